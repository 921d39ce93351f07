/** What follows from a call of the model: its answer, its failure, its loss. */
import type { Failure } from '../../errors.js'
import type { Modelling, ModelStep, OpenCall, OpenTurn, ToolStep } from '../checkpoint.js'
import type { CallRow, ClosedStep, Commit } from '../commit.js'
import { CALL_DENIED, INPUT_CUT_OFF, MODEL_CONTENT_FILTERED, MODEL_REFUSED, NOBODY_TO_ASK, STEP_INTERRUPTED } from '../failures.js'
import type { FinishReason } from '../model.js'
import type { Block, ModelAnswered, ModelFailed, RequestedCall } from '../outcomes.js'
import type { RequestSpec } from '../requests.js'
import { MAX_TAKEOVERS, MODEL_RETRY, retryDelayMs } from '../retry.js'
import type { Session } from '../session.js'
import { addUsage } from '../usage.js'
import { appendResults, failedResult, recordEnd } from './calls.js'
import { openRequest, resume } from './ask.js'
import { CommitDraft, type Settling } from './draft.js'
import { stepScope, type Scope } from './scope.js'
import { advance } from './tools.js'
import { beginAttempt, endTurn, rollClock } from './turn.js'

/** The answer ends the turn, or asks for calls; those that begin now are recorded as started in this very commit (R3). */
export function settleAnswer(session: Session, { turn, step }: Modelling, answer: ModelAnswered, settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  const { finishReason, usage } = answer
  const text = joined(answer.blocks, 'text')
  const error = refusalOf(answer)
  const calls = answer.calls.map((call) => ({
    ...call,
    refusal: call.refusal ?? error ?? (finishReason === 'LENGTH' ? INPUT_CUT_OFF : null),
  }))
  const next: OpenTurn = { ...turn, calls: turn.calls + calls.length, usage: addUsage(turn.usage, usage) }
  completeBlocks(draft, stepScope(turn, step), answer.blocks, finishReason)
  draft.record({ type: 'STEP_COMPLETED', data: { finishReason, usage } }, stepScope(turn, step))
  draft.closedStep = {
    ...closing(step, settling.now),
    status: 'COMPLETED',
    text,
    reasoning: joined(answer.blocks, 'reasoning'),
    finishReason,
    usage,
  }
  draft.countUsage(usage)
  if (text !== '' || calls.length > 0) {
    draft.appendHistory([{ role: 'assistant', text, calls: calls.map(({ id, name, input }) => ({ id, name, input })), interrupted: false }])
  }
  const asked = requestCalls(draft, next, step, calls)
  if (error !== null) {
    appendResults(draft, asked)
    endTurn(draft, next, { status: 'FAILED', output: text === '' ? null : text, error })
  } else if (calls.length > 0) {
    advance(draft, next, asked, null)
  } else {
    endTurn(draft, next, { status: 'COMPLETED', output: text })
  }
  return draft.finish()
}

/** A refused or filtered answer is the turn's failure; none of its calls runs. */
function refusalOf({ finishReason }: ModelAnswered): Failure | null {
  if (finishReason === 'REFUSAL') return MODEL_REFUSED
  return finishReason === 'CONTENT_FILTER' ? MODEL_CONTENT_FILTERED : null
}

/** Records every call that was asked for, valid or not; a refused one has its result at once, one that needs somebody's leave waits for it. */
function requestCalls(draft: CommitDraft, turn: OpenTurn, step: ModelStep, calls: readonly RequestedCall[]): ToolStep {
  const open = calls.map((call, order): OpenCall => {
    const { id, name, label, input, idempotent, sequential } = call
    const refusal = call.refusal ?? (call.ask !== null && cannotAsk(turn, call.ask) ? NOBODY_TO_ASK : null)
    const data = { callId: id, name, label, input, inputError: refusal?.message ?? null }
    draft.record({ type: 'TOOL_CALL_REQUESTED', data }, stepScope(turn, step))
    const row = toRow(turn, step, { ...call, refusal }, { order, endedAt: draft.settling.now })
    draft.addCall(row)
    if (refusal !== null) recordEnd(draft, turn, step, row)
    else if (call.ask !== null) {
      return { id, name, idempotent, sequential, state: 'asking', request: openRequest(draft, turn, call.ask, row).id }
    }
    return { id, name, idempotent, sequential, state: refusal === null ? 'requested' : 'ended' }
  })
  return { id: step.id, index: step.index, attempt: step.attempt, calls: open }
}

/** A schedule reads no prompts. */
function cannotAsk({ principal }: OpenTurn, { reviewers }: RequestSpec): boolean {
  return principal.kind === 'SYSTEM' && reviewers.length === 0
}

function toRow(turn: OpenTurn, step: ModelStep, call: RequestedCall, { order, endedAt }: { order: number; endedAt: number }): CallRow {
  const { id, name, label, input, rawInput, refusal, ask } = call
  const place = { id, turnId: turn.id, stepId: step.id, stepIndex: step.index, order }
  const asked = { name, label, input, rawInput, startedAt: null }
  if (refusal !== null) {
    const status = refusal.code === CALL_DENIED ? 'DENIED' : 'FAILED'
    return { ...place, ...asked, status, result: failedResult(refusal, endedAt) }
  }
  const waiting = ask?.kind === 'APPROVAL' ? 'WAITING_FOR_APPROVAL' : 'WAITING'
  return { ...place, ...asked, status: ask === null ? 'REQUESTED' : waiting, result: null }
}

/** Tried again after a while, or given up: then the step and its turn have failed. */
export function settleFailure(session: Session, { turn, step }: Modelling, failed: ModelFailed, settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  const scope = stepScope(turn, step)
  const failures = step.failures + 1
  const error = failed.failure
  if (error.retryable && failures < MODEL_RETRY.maxAttempts) {
    const delayMs = retryDelayMs(MODEL_RETRY, failures, failed.retryAfterMs, settling.random)
    draft.record({ type: 'STEP_RETRYING', data: { error, delayMs } }, scope)
    draft.enter({ kind: 'modelling', turn, step: { ...step, failures, retryAt: settling.now + delayMs } })
    return draft.finish()
  }
  draft.record({ type: 'STEP_FAILED', data: { error } }, scope)
  draft.closedStep = { ...closing(step, settling.now), status: 'FAILED', error }
  endTurn(draft, turn, { status: 'FAILED', output: null, error })
  return draft.finish()
}

/** The back-off is over: calls the model again, as the next attempt. */
export function settleAttempt(session: Session, turn: OpenTurn, step: ModelStep, settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  beginAttempt(draft, resume(draft, turn, 'TIMER'), again(session, step))
  return draft.finish()
}

/** A worker was lost while the model answered: what it had streamed is retracted, and the call is made again. */
export function recoverModel(session: Session, turn: OpenTurn, step: ModelStep, settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  const next = { ...turn, takeovers: turn.takeovers + 1 }
  if (next.takeovers > MAX_TAKEOVERS) {
    giveUpStep(draft, next, step, STEP_INTERRUPTED)
    return draft.finish()
  }
  draft.record({ type: 'STEP_INTERRUPTED', data: { reason: 'WORKER_LOST' } }, stepScope(turn, step))
  beginAttempt(draft, next, again(session, step))
  return draft.finish()
}

/** The step is not tried any more, and fails its turn; what an open attempt had streamed is retracted. */
export function giveUpStep(draft: CommitDraft, turn: OpenTurn, step: ModelStep, error: Failure): void {
  if (step.retryAt === null) draft.record({ type: 'STEP_INTERRUPTED', data: { reason: 'WORKER_LOST' } }, stepScope(turn, step))
  draft.closedStep = { ...closing(step, draft.settling.now), status: 'INTERRUPTED', error }
  endTurn(draft, turn, { status: 'FAILED', output: null, error })
}

/** The process stops: gives the call back, so that whoever claims next makes it again at once. */
export function handBack(session: Session, turn: OpenTurn, step: ModelStep, settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  draft.record({ type: 'STEP_INTERRUPTED', data: { reason: 'WORKER_LOST' } }, stepScope(turn, step))
  draft.enter({ kind: 'modelling', turn: rollClock(turn, settling.now), step: { ...step, retryAt: settling.now } })
  return draft.finish()
}

function again(session: Session, step: ModelStep): ModelStep {
  return { ...step, attempt: step.attempt + 1, epoch: session.lease.epoch, retryAt: null }
}

/** Closes the call of the model without an outcome; what it had said is completed as interrupted and kept. Answers the text. */
export function interruptStep(
  draft: CommitDraft,
  { turn, step }: Modelling,
  said: readonly Block[],
  reason: 'CANCELLED' | 'STEERED' | 'TIMED_OUT',
): string | null {
  const text = joined(said, 'text')
  completeBlocks(draft, stepScope(turn, step), said, null)
  if (step.retryAt === null) draft.record({ type: 'STEP_INTERRUPTED', data: { reason } }, stepScope(turn, step))
  draft.closedStep = { ...closing(step, draft.settling.now), status: 'INTERRUPTED', text, reasoning: joined(said, 'reasoning') }
  if (text === '') return null
  draft.appendHistory([{ role: 'assistant', text, calls: [], interrupted: true }])
  return text
}

/** A finish reason of null: they were cut short. */
function completeBlocks(draft: CommitDraft, scope: Scope, blocks: readonly Block[], finishReason: FinishReason | null): void {
  const interrupted = finishReason === null
  for (const { id: blockId, kind, text } of blocks) {
    if (kind === 'text') draft.record({ type: 'MESSAGE_COMPLETED', data: { blockId, text, finishReason, interrupted } }, scope)
    else draft.record({ type: 'REASONING_COMPLETED', data: { blockId, text, interrupted } }, scope)
  }
}

function closing(step: ModelStep, endedAt: number): Omit<ClosedStep, 'status'> {
  return { id: step.id, text: null, reasoning: null, finishReason: null, usage: null, error: null, endedAt }
}

function joined(blocks: readonly Block[], kind: Block['kind']): string {
  return blocks.map((block) => (block.kind === kind ? block.text : '')).join('')
}
