/** From what happened to the commit it means: the one table of transitions and outcomes. Pure. */
import { assertNever } from '../../errors.js'
import type { Commit } from '../commit.js'
import type { Transition } from '../owed.js'
import type { Block, Outcome, ToolEnded } from '../outcomes.js'
import type { Session } from '../session.js'
import { expireRequests, settleAnswers, withdrawForMessages } from './answers.js'
import { settleCompact } from './compaction.js'
import { expire, settleControl, settleTimeout } from './control.js'
import type { Settling } from './draft.js'
import { handBack, recoverModel, settleAnswer, settleAttempt, settleFailure } from './model.js'
import { settleStall } from './stall.js'
import { interruptModel, joinTurn } from './steering.js'
import { recoverTools, settleResults } from './tools.js'
import { startTurn } from './turn.js'

/** `said` is what a model call that the transition takes away had said. */
export function settleTransition(session: Session, transition: Transition, said: readonly Block[], settling: Settling): Commit {
  switch (transition.kind) {
    case 'stalled':
      return settleStall(session, settling)
    case 'control':
      return settleControl(session, transition.control, said, settling)
    case 'start-turn':
      return startTurn(session, transition.messages, settling)
    case 'compact':
      return settleCompact(session, transition.compact, settling)
    case 'answer':
      return settleAnswers(session, transition.answers, settling)
    case 'withdraw':
      return withdrawForMessages(session, transition.acting, transition.messages, settling)
    case 'expire-requests':
      return expireRequests(session, transition.acting, transition.requests, settling)
    case 'join':
      return joinTurn(session, transition.modelling, transition.messages, settling)
    case 'interrupt':
      return interruptModel(session, transition.modelling, transition.messages, settling)
    case 'begin-attempt':
      return settleAttempt(session, transition.turn, transition.step, settling)
    case 'recover-model':
      return recoverModel(session, transition.turn, transition.step, settling)
    case 'recover-tools':
      return recoverTools(session, transition.acting, settling)
    case 'advance-step':
      return settleResults(session, transition.acting, [], settling)
    case 'expire':
      return expire(session, settling)
    case 'time-out':
      return settleTimeout(session, said, settling)
    case 'hand-back':
      return handBack(session, transition.turn, transition.step, settling)
    default:
      return assertNever(transition)
  }
}

/** Outcomes that are ready together; null when the session does not wait for any of them. */
export function settleOutcomes(session: Session, outcomes: readonly Outcome[], settling: Settling): Commit | null {
  const { phase } = session.checkpoint
  if (phase.kind === 'acting') {
    const ended = outcomes.filter((outcome): outcome is ToolEnded => outcome.kind === 'tool-ended')
    return ended.length === 0 ? null : settleResults(session, phase, ended, settling)
  }
  if (phase.kind !== 'modelling') return null
  const [outcome] = outcomes
  switch (outcome?.kind) {
    case 'model-answered':
      return settleAnswer(session, phase, outcome, settling)
    case 'model-failed':
      return settleFailure(session, phase, outcome, settling)
    default:
      return null
  }
}
