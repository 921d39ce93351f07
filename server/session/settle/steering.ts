/** Messages that join an open turn: its person corrects it, or adds to it. */
import type { Modelling } from '../checkpoint.js'
import type { Commit } from '../commit.js'
import type { Message } from '../deliveries.js'
import type { Session } from '../session.js'
import { CommitDraft, type Settling } from './draft.js'
import { interruptStep } from './model.js'
import { beginNextStep, receive, rollClock } from './turn.js'

/** The provider is called again at its time, with the messages. */
export function joinTurn(session: Session, { turn }: Modelling, messages: readonly Message[], settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  receive(draft, turn, messages)
  return draft.finish()
}

/** The model had shown nothing of its answer: that call is dropped, with what it had reasoned, and the next step asks again. */
export function interruptModel(session: Session, phase: Modelling, messages: readonly Message[], settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  const turn = rollClock(phase.turn, settling.now)
  interruptStep(draft, phase, [], 'STEERED')
  receive(draft, turn, messages)
  beginNextStep(draft, turn)
  return draft.finish()
}
