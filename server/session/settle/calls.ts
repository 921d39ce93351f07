/** The calls of the open step, one by one: begun, ended, cut off. Which of these and when is tools.ts's and control.ts's to say. */
import type { Failure } from '../../errors.js'
import type { CallId } from '../../ids.js'
import type { OpenCall, OpenTurn, ToolStep } from '../checkpoint.js'
import type { CallResult, CallRow } from '../commit.js'
import type { CallOutcome } from '../events.js'
import { CALL_CANCELLED, CALL_NOT_RUN } from '../failures.js'
import { startable } from '../next.js'
import type { CommitDraft } from './draft.js'
import { stepScope } from './scope.js'

export interface CallEnding {
  readonly id: CallId
  readonly status: CallOutcome
  readonly result: CallResult
}

/** Recorded as started before their code runs (R3); only calls that begin now are: none in a process that is about to stop. */
export function startCalls(draft: CommitDraft, turn: OpenTurn, step: ToolStep): readonly OpenCall[] {
  if (draft.settling.draining) return step.calls
  const begin = new Set(startable(step.calls).map((call) => call.id))
  const startedAt = draft.settling.now
  return step.calls.map((call) => {
    if (!begin.has(call.id)) return call
    draft.record({ type: 'TOOL_CALL_START', data: { callId: call.id, name: call.name } }, stepScope(turn, step))
    draft.changeCall(call.id, { status: 'RUNNING', startedAt })
    const { id, name, idempotent, sequential } = call
    return { id, name, idempotent, sequential, state: 'started', epoch: draft.session.lease.epoch, startedAt }
  })
}

/** Ends a call once; whoever comes later finds it ended and changes nothing. */
export function endCall(draft: CommitDraft, turn: OpenTurn, step: ToolStep, ending: CallEnding): ToolStep {
  const call = step.calls.find((one) => one.id === ending.id)
  if (call === undefined || call.state === 'ended') return step
  const { status, result } = ending
  draft.changeCall(call.id, { status, result })
  const row = draft.callRow(call.id)
  if (row !== undefined) recordEnd(draft, turn, step, row)
  const { id, name, idempotent, sequential } = call
  return { ...step, calls: step.calls.map((one) => (one.id === id ? { id, name, idempotent, sequential, state: 'ended' } : one)) }
}

/** The one event that says how a call ended. */
export function recordEnd(
  draft: CommitDraft,
  turn: OpenTurn,
  step: { readonly index: number; readonly attempt: number },
  row: CallRow,
): void {
  const { id: callId, name, status, result, startedAt } = row
  if (result === null || !isOutcome(status)) return
  const durationMs = startedAt === null ? null : Math.max(0, result.endedAt - startedAt)
  draft.record(
    { type: 'TOOL_CALL_END', data: { callId, name, status, output: result.output, error: result.error, durationMs } },
    stepScope(turn, step),
  )
}

function isOutcome(status: CallRow['status']): status is CallOutcome {
  return status !== 'REQUESTED' && status !== 'RUNNING' && status !== 'WAITING' && status !== 'WAITING_FOR_APPROVAL'
}

/** Settles what has not ended, or what of it is in the state `only`, as CANCELLED: every call of a stopped turn keeps a result, so that the next request is valid (H1). */
export function cutOff(draft: CommitDraft, turn: OpenTurn, step: ToolStep, only: OpenCall['state'] | null = null): ToolStep {
  return step.calls.reduce((rest, call) => {
    if (only !== null && call.state !== only) return rest
    const failure = call.state === 'started' ? CALL_CANCELLED : CALL_NOT_RUN
    return endCall(draft, turn, rest, { id: call.id, status: 'CANCELLED', result: failedResult(failure, draft.settling.now) })
  }, step)
}

/** The results of the step go to history, in call order. */
export function appendResults(draft: CommitDraft, step: ToolStep): void {
  draft.appendHistory(
    step.calls.map(({ id, name }) => {
      const row = draft.callRow(id)
      return { role: 'tool', callId: id, name, text: row?.result?.text ?? CALL_NOT_RUN.message, isError: row?.status !== 'COMPLETED' }
    }),
  )
}

export function failedResult(failure: Failure, endedAt: number): CallResult {
  return { output: null, text: failure.message, error: failure, truncatedBytes: 0, endedAt }
}
