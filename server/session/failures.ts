/** The failures that the engine itself raises: code, sentence, mend. Those of a provider or a tool come with them. */
import type { Failure } from '../errors.js'
import { MAX_STATE_BYTES } from './state.js'

/** Why a delivery was rejected. */
export const REJECTED_ENDED: Failure = failure('ENDED', 'the session ended before this message was taken; send it to a new one')
export const REJECTED_CLEARED: Failure = failure('CLEARED', 'a clear came before this message was taken; send it again')
export const COMPACTION_UNAVAILABLE: Failure = failure(
  'COMPACTION_UNAVAILABLE',
  'this release does not compact; clear the session, or go on',
)
export const REJECTED_DROPPED: Failure = failure('DROPPED', 'a cancel that drops queued messages came; send it again')

export const STEP_INTERRUPTED: Failure = failure(
  'STEP_INTERRUPTED',
  'workers were lost again and again while this turn ran; look for a tool that kills or blocks its process, then send the message again',
)
export const SESSION_STALLED: Failure = failure(
  'SESSION_STALLED',
  'every process that took the session here died or failed before it could record a step; look for the session in the process logs, mend the cause, then send the message again',
)
export const CALL_CANCELLED: Failure = failure('CANCELLED', 'the call was cancelled; it may have taken effect')
export const CALL_NOT_RUN: Failure = failure('CANCELLED', 'the turn was stopped before the call ran')
export const INPUT_CUT_OFF: Failure = failure(
  'TOOL_INPUT_INVALID',
  'the answer reached its output limit before the arguments were complete, so no call of it was run; ask again with shorter arguments',
)
export const MODEL_REFUSED: Failure = failure('MODEL_REFUSED', 'the model refused to answer; rephrase the message')
export const MODEL_CONTENT_FILTERED: Failure = failure('MODEL_CONTENT_FILTERED', 'the provider filtered the answer; rephrase the message')

export function iterationLimit(max: number): Failure {
  return failure(
    'TURN_ITERATION_LIMIT',
    `the turn used up its ${max} model calls; raise limits.maxIterationsPerTurn or send a narrower task`,
  )
}

export function stateTooLarge(bytes: number): Failure {
  return failure(
    'STATE_TOO_LARGE',
    `the tool ran, but the state of the session would have ${bytes} bytes of JSON, of which ${MAX_STATE_BYTES} fit; nothing of what it set was kept`,
  )
}

export function turnTimeout(limitMs: number): Failure {
  return failure('TURN_TIMEOUT', `the turn ran for its ${Math.round(limitMs / 1000)} s; raise limits.turnTimeoutMs or send a narrower task`)
}

/** What the model reads of a call whose worker was lost while it ran (R3). */
export function abandoned(name: string): Failure {
  return failure(
    'TOOL_ABANDONED',
    `the process that ran ${name} was lost before its result was recorded; the call was not repeated and may have taken effect`,
  )
}

function failure(code: string, message: string): Failure {
  return { code, message, retryable: false }
}
