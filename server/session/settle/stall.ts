/**
 * A session that was claimed again and again without one commit: every process that took it died, or its driver failed. What it is at is
 * given up, so that it goes on with what else waits. Nothing is read or run here but what the claim brought, and what should be there
 * is not relied on: the fault may be anywhere in it.
 */
import type { Failure } from '../../errors.js'
import type { Acting, OpenCall } from '../checkpoint.js'
import type { Commit } from '../commit.js'
import type { Delivery } from '../deliveries.js'
import type { CallOutcome } from '../events.js'
import { CALL_NOT_RUN, SESSION_STALLED, abandoned } from '../failures.js'
import { firstControl, foldable } from '../inbox.js'
import type { Session } from '../session.js'
import { endCall, failedResult } from './calls.js'
import { CommitDraft, type Settling } from './draft.js'
import { giveUpStep } from './model.js'
import { stepScope } from './scope.js'
import { closeTurn, endSession, endTurn, finishTask } from './turn.js'

/** Fails the open turn; when none is open, rejects what would be taken next. */
export function settleStall(session: Session, settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  const { phase } = session.checkpoint
  switch (phase.kind) {
    case 'created':
    case 'idle':
      for (const delivery of nextTaken(session)) draft.settle(delivery, 'REJECTED', null, SESSION_STALLED)
      break
    case 'modelling':
      giveUpStep(draft, phase.turn, phase.step, SESSION_STALLED)
      break
    case 'held':
      endTurn(draft, phase.turn, { status: 'FAILED', output: null, error: SESSION_STALLED })
      break
    case 'acting':
      giveUpCalls(draft, phase)
      break
    case 'ended':
  }
  return draft.finish()
}

function nextTaken(session: Session): readonly Delivery[] {
  const control = firstControl(session)
  if (control !== null) return [control]
  const messages = foldable(session)
  return messages.length > 0 ? messages : session.deliveries.slice(0, 1)
}

/** Every call gets a result, so that history stays valid (H1); an end that was under way is kept: its delivery has been applied. */
function giveUpCalls(draft: CommitDraft, { turn, step, stopping }: Acting): void {
  for (const call of step.calls) if (call.state !== 'ended') giveUpCall(draft, { turn, step }, call)
  draft.appendHistory(
    step.calls.map((call) => {
      const row = draft.callRow(call.id)
      const text = row?.result?.text ?? failureOf(call).message
      return { role: 'tool', callId: call.id, name: call.name, text, isError: row?.status !== 'COMPLETED' }
    }),
  )
  closeTurn(draft, turn, { status: 'FAILED', output: null, error: SESSION_STALLED })
  if (stopping?.clears === true) draft.clearHistory()
  if (stopping?.cause === 'end') endSession(draft, 'CANCELLED', 'ENDED', null)
  else finishTask(draft, 'FAILED', SESSION_STALLED)
}

/** A call that had begun may have taken effect (R3). */
function giveUpCall(draft: CommitDraft, { turn, step }: Pick<Acting, 'turn' | 'step'>, call: OpenCall): void {
  const status: CallOutcome = call.state === 'started' ? 'ABANDONED' : 'CANCELLED'
  const error = failureOf(call)
  if (draft.callRow(call.id) === undefined) {
    const data = { callId: call.id, name: call.name, status, output: null, error, durationMs: null }
    draft.record({ type: 'TOOL_CALL_END', data }, stepScope(turn, step))
  } else {
    endCall(draft, turn, step, { id: call.id, status, result: failedResult(error, draft.settling.now) })
  }
}

function failureOf(call: OpenCall): Failure {
  return call.state === 'started' ? abandoned(call.name) : CALL_NOT_RUN
}
