/** Cancel, clear, end, time-out: whatever stops a turn, and what it takes along. */
import type { Failure } from '../../errors.js'
import type { Acting, Held, Modelling, Stopping } from '../checkpoint.js'
import type { Commit } from '../commit.js'
import type { CancelContent, ClearContent, Control, DeliveryOf, EndContent } from '../deliveries.js'
import { REJECTED_CLEARED, REJECTED_DROPPED, turnTimeout } from '../failures.js'
import { cancels, foldable } from '../inbox.js'
import type { Block } from '../outcomes.js'
import type { Session } from '../session.js'
import { withdrawRequests } from './ask.js'
import { appendResults, cutOff } from './calls.js'
import { CommitDraft, type Settling } from './draft.js'
import { interruptStep } from './model.js'
import { advance } from './tools.js'
import { closeTurn, endSession, endTurn, finishTask, openTurn, type TurnEnding } from './turn.js'

/** `said` is what the model had said when its call was stopped. */
export function settleControl(session: Session, control: Control, said: readonly Block[], settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  switch (control.kind) {
    case 'CANCEL':
      settleCancel(draft, control, said)
      break
    case 'CLEAR':
      settleClear(draft, control, said)
      break
    case 'END':
      settleEnd(draft, control, said)
  }
  return draft.finish()
}

function settleEnd(draft: CommitDraft, control: DeliveryOf<EndContent>, said: readonly Block[]): void {
  const { phase } = draft.session.checkpoint
  draft.settle(control, 'APPLIED', null)
  switch (phase.kind) {
    case 'created':
    case 'idle':
      endSession(draft, 'COMPLETED', 'ENDED', null)
      return
    case 'held':
    case 'modelling':
      closeTurn(draft, phase.turn, cancelled(stopModel(draft, phase, said), 'session_ended'))
      endSession(draft, 'CANCELLED', 'ENDED', null)
      return
    case 'acting':
      stopTools(draft, phase, { cause: 'end', clears: false })
      return
    case 'ended':
  }
}

/** What waited for the history that is gone now goes with it: nobody expects an answer out of nothing. */
function settleClear(draft: CommitDraft, control: DeliveryOf<ClearContent>, said: readonly Block[]): void {
  const { phase } = draft.session.checkpoint
  draft.settle(control, 'APPLIED', 'turn' in phase ? phase.turn.id : null)
  reject(draft, control, REJECTED_CLEARED)
  switch (phase.kind) {
    case 'created':
    case 'idle':
      draft.clearHistory()
      return
    case 'held':
    case 'modelling':
      closeTurn(draft, phase.turn, cancelled(stopModel(draft, phase, said), 'cleared'))
      draft.clearHistory()
      finishTask(draft, 'CANCELLED', null)
      return
    case 'acting':
      stopTools(draft, phase, { cause: 'cancel', clears: true })
      return
    case 'ended':
  }
}

/** Bound when it was accepted; bound to nothing that is open, it is applied without effect. */
function settleCancel(draft: CommitDraft, control: DeliveryOf<CancelContent>, said: readonly Block[]): void {
  const { session } = draft
  const { phase } = session.checkpoint
  const target = cancels(session, control)
  if (target === 'unstarted') cancelUnstarted(draft, control)
  else if (target === 'open' && (phase.kind === 'modelling' || phase.kind === 'held')) {
    const output = stopModel(draft, phase, said)
    draft.settle(control, 'APPLIED', phase.turn.id)
    endTurn(draft, phase.turn, cancelled(output, 'cancelled'))
  } else if (target === 'open' && phase.kind === 'acting') {
    draft.settle(control, 'APPLIED', phase.turn.id)
    stopTools(draft, phase, { cause: 'cancel', clears: false })
  } else {
    draft.settle(control, 'APPLIED', null)
  }
  if (control.dropQueued) reject(draft, control, REJECTED_DROPPED)
}

/** The turn that the waiting messages start is over before it asks the model anything. */
function cancelUnstarted(draft: CommitDraft, control: DeliveryOf<CancelContent>): void {
  const messages = foldable(draft.session).filter((message) => message.position < control.position)
  const turn = openTurn(draft, messages)
  draft.settle(control, 'APPLIED', turn.id)
  endTurn(draft, turn, cancelled(null, 'cancelled'))
}

/** The messages that wait, and were accepted before the control. */
function reject(draft: CommitDraft, control: Control, rejection: Failure): void {
  for (const delivery of draft.unsettled()) {
    if (delivery.kind === 'MESSAGE' && delivery.position < control.position) draft.settle(delivery, 'REJECTED', null, rejection)
  }
}

/** Answers what it had said; a turn that is held does not ask it anything. */
function stopModel(draft: CommitDraft, phase: Modelling | Held, said: readonly Block[]): string | null {
  return phase.kind === 'held' ? null : interruptStep(draft, phase, said, 'CANCELLED')
}

function cancelled(output: string | null, reason: string): TurnEnding {
  return { status: 'CANCELLED', output, reason }
}

/** Idle for too long: the session ends, and with it a turn that waits. */
export function expire(session: Session, settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  const { phase } = session.checkpoint
  withdrawRequests(draft, 'session_timeout', 'EXPIRED')
  if (phase.kind === 'acting') appendResults(draft, cutOff(draft, phase.turn, phase.step))
  if (phase.kind === 'modelling') interruptStep(draft, phase, [], 'CANCELLED')
  if ('turn' in phase) closeTurn(draft, phase.turn, cancelled(null, 'session_timeout'))
  endSession(draft, 'COMPLETED', 'TIMEOUT', null)
  return draft.finish()
}

/** The turn has used up its active time. */
export function settleTimeout(session: Session, said: readonly Block[], settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  const { phase } = session.checkpoint
  if (phase.kind === 'modelling') {
    const output = interruptStep(draft, phase, said, 'TIMED_OUT')
    endTurn(draft, phase.turn, { status: 'FAILED', output, error: turnTimeout(settling.limits.turnTimeoutMs) })
  } else if (phase.kind === 'acting') {
    stopTools(draft, phase, { cause: 'timeout', clears: false })
  }
  return draft.finish()
}

const WITHDRAWN_BY = { clear: 'cleared', cancel: 'cancelled', end: 'session_ended', timeout: 'turn_timeout' } as const

/** Running tools are told, and get a grace to answer; a second stop neither shortens nor prolongs it, but an end stays an end. */
function stopTools(draft: CommitDraft, acting: Acting, { cause, clears }: Omit<Stopping, 'until'>): void {
  const { stopping } = acting
  const until = stopping?.until ?? draft.settling.now + draft.settling.limits.cancelGraceMs
  const strongest = cause === 'end' || stopping === null ? cause : stopping.cause
  withdrawRequests(draft, WITHDRAWN_BY[clears ? 'clear' : cause])
  const step = cutOff(draft, acting.turn, acting.step, 'asking')
  advance(draft, acting.turn, step, { cause: strongest, until, clears: clears || (stopping?.clears ?? false) })
}
