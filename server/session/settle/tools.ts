/** What follows from the calls of a step: results come, the next ones begin, the last one closes the step, a worker is lost. */
import type { Acting, OpenTurn, Stopping, ToolStep } from '../checkpoint.js'
import type { Commit } from '../commit.js'
import { STEP_INTERRUPTED, abandoned, turnTimeout } from '../failures.js'
import { messagesTo } from '../inbox.js'
import type { ToolEnded } from '../outcomes.js'
import { MAX_TAKEOVERS } from '../retry.js'
import type { Session } from '../session.js'
import { appendResults, cutOff, endCall, failedResult, startCalls, type CallEnding } from './calls.js'
import { CommitDraft, type Settling } from './draft.js'
import { beginNextStep, closeTurn, endSession, endTurn, finishTask, receive } from './turn.js'

/** Results that were ready together, in one commit. None: the step goes on by itself. */
export function settleResults(session: Session, acting: Acting, ended: readonly ToolEnded[], settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  const open = ended.filter((outcome) => isOpen(acting.step, outcome))
  const step = open.reduce((rest, outcome) => endCall(draft, acting.turn, rest, keepState(draft, outcome)), acting.step)
  advance(draft, acting.turn, step, acting.stopping)
  return draft.finish()
}

/** A call that has ended sets nothing any more: what it set is committed, and may have been set anew since. */
function isOpen({ calls }: ToolStep, { callId }: ToolEnded): boolean {
  return calls.some(({ id, state }) => id === callId && state !== 'ended')
}

/** What the call has set goes with its result, or takes the result along when it cannot be kept. */
function keepState(draft: CommitDraft, { callId: id, status, result, state }: ToolEnded): CallEnding {
  const failure = state === undefined ? null : draft.changeState(state)
  if (failure === null) return { id, status, result }
  return { id, status: 'FAILED', result: failedResult(failure, result.endedAt) }
}

/** Whatever follows from the state of the calls. */
export function advance(draft: CommitDraft, turn: OpenTurn, step: ToolStep, stopping: Stopping | null): void {
  if (stopping !== null) {
    const running = step.calls.some((call) => call.state === 'started')
    if (running && draft.settling.now < stopping.until) draft.enter({ kind: 'acting', turn, step, stopping })
    else finishStop(draft, turn, step, stopping)
  } else if (step.calls.every((call) => call.state === 'ended')) {
    closeStep(draft, turn, step)
  } else {
    draft.enter({ kind: 'acting', turn, step: { ...step, calls: startCalls(draft, turn, step) }, stopping })
  }
}

/** All results go to history, then what the turn's person has said meanwhile; then the model is asked again. */
function closeStep(draft: CommitDraft, turn: OpenTurn, step: ToolStep): void {
  appendResults(draft, step)
  const checkpoint = { ...draft.checkpoint, phase: { kind: 'acting', turn, step, stopping: null } } as const
  receive(draft, turn, messagesTo('join-later', 'tools-running', { checkpoint, deliveries: draft.unsettled(), requests: [] }))
  beginNextStep(draft, turn)
}

/** The tools have answered, or their grace is over: the turn ends, and the session with it if that was asked. */
function finishStop(draft: CommitDraft, turn: OpenTurn, step: ToolStep, stopping: Stopping): void {
  appendResults(draft, cutOff(draft, turn, step))
  const { cause, clears } = stopping
  const error = cause === 'timeout' ? turnTimeout(draft.settling.limits.turnTimeoutMs) : null
  if (error !== null) closeTurn(draft, turn, { status: 'FAILED', output: null, error })
  else closeTurn(draft, turn, { status: 'CANCELLED', output: null, reason: reasonOf(stopping) })
  if (clears) draft.clearHistory()
  if (cause === 'end') endSession(draft, 'CANCELLED', 'ENDED', null)
  else finishTask(draft, error === null ? 'CANCELLED' : 'FAILED', error)
}

function reasonOf({ cause, clears }: Stopping): string {
  if (cause === 'end') return 'session_ended'
  return clears ? 'cleared' : 'cancelled'
}

/**
 * A worker was lost while calls ran. An idempotent one runs again under its id; any other is not repeated: it is ABANDONED, and the
 * model is told (R3).
 */
export function recoverTools(session: Session, acting: Acting, settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  const { epoch } = session.lease
  const turn = { ...acting.turn, takeovers: acting.turn.takeovers + 1 }
  const givenUp = turn.takeovers > MAX_TAKEOVERS
  let { step } = acting
  for (const call of acting.step.calls) {
    if (call.state !== 'started' || call.epoch === epoch) continue
    if (call.idempotent && !givenUp && acting.stopping === null) {
      draft.runsAgain = true
      step = { ...step, calls: step.calls.map((one) => (one.id === call.id ? { ...call, epoch } : one)) }
    } else {
      const result = failedResult(abandoned(call.name), settling.now)
      step = endCall(draft, turn, step, { id: call.id, status: 'ABANDONED', result })
    }
  }
  if (givenUp && acting.stopping === null) {
    appendResults(draft, cutOff(draft, turn, step))
    endTurn(draft, turn, { status: 'FAILED', output: null, error: STEP_INTERRUPTED })
  } else {
    advance(draft, turn, step, acting.stopping)
  }
  return draft.finish()
}
