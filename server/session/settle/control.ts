/** Cancel, end, time-out: whatever stops a turn, and what it takes along. */
import type { Acting, StopCause } from '../checkpoint.js'
import type { Commit } from '../commit.js'
import type { Control, DeliveryOf, CancelContent, EndContent } from '../deliveries.js'
import { REJECTED_DROPPED, turnTimeout } from '../failures.js'
import { cancels, foldable } from '../next.js'
import type { Block } from '../outcomes.js'
import type { Session } from '../session.js'
import { CommitDraft, type Settling } from './draft.js'
import { interruptStep } from './model.js'
import { advance } from './tools.js'
import { endSession, endTurn, openTurn } from './turn.js'

/** `said` is what the model had said when its call was stopped. */
export function settleControl(session: Session, control: Control, said: readonly Block[], settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  if (control.kind === 'END') settleEnd(draft, control, said)
  else settleCancel(draft, control, said)
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
    case 'modelling':
      endTurn(draft, phase.turn, {
        status: 'CANCELLED',
        output: interruptStep(draft, phase, said, 'CANCELLED'),
        reason: 'session_ended',
      })
      endSession(draft, 'CANCELLED', 'ENDED', null)
      return
    case 'acting':
      stopTools(draft, phase, 'end')
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
  else if (target === 'open' && phase.kind === 'modelling') {
    const { turn } = phase
    const output = interruptStep(draft, phase, said, 'CANCELLED')
    draft.settle(control, 'APPLIED', turn.id)
    endTurn(draft, turn, { status: 'CANCELLED', output, reason: 'cancelled' })
  } else if (target === 'open' && phase.kind === 'acting') {
    draft.settle(control, 'APPLIED', phase.turn.id)
    stopTools(draft, phase, 'cancel')
  } else {
    draft.settle(control, 'APPLIED', null)
  }
  if (control.dropQueued) dropQueued(draft, control)
}

/** The turn that the waiting messages start is over before it asks the model anything. */
function cancelUnstarted(draft: CommitDraft, control: DeliveryOf<CancelContent>): void {
  const messages = foldable(draft.session).filter((message) => message.position < control.position)
  const turn = openTurn(draft, messages)
  draft.settle(control, 'APPLIED', turn.id)
  endTurn(draft, turn, { status: 'CANCELLED', output: null, reason: 'cancelled' })
}

function dropQueued(draft: CommitDraft, control: DeliveryOf<CancelContent>): void {
  for (const delivery of draft.unsettled()) {
    if (delivery.kind === 'MESSAGE' && delivery.position < control.position) draft.settle(delivery, 'REJECTED', null, REJECTED_DROPPED)
  }
}

/** The turn has used up its active time. */
export function settleTimeout(session: Session, said: readonly Block[], settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  const { phase } = session.checkpoint
  if (phase.kind === 'modelling') {
    const output = interruptStep(draft, phase, said, 'TIMED_OUT')
    endTurn(draft, phase.turn, { status: 'FAILED', output, error: turnTimeout(settling.limits.turnTimeoutMs) })
  } else if (phase.kind === 'acting') {
    stopTools(draft, phase, 'timeout')
  }
  return draft.finish()
}

/** Running tools are told, and get a grace to answer; a second stop neither shortens nor prolongs it, but an end stays an end. */
function stopTools(draft: CommitDraft, acting: Acting, cause: StopCause): void {
  const { stopping } = acting
  const until = stopping?.until ?? draft.settling.now + draft.settling.limits.cancelGraceMs
  const strongest = cause === 'end' || stopping === null ? cause : stopping.cause
  advance(draft, acting.turn, acting.step, { cause: strongest, until })
}
