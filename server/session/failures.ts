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

export const ANSWER_TOO_LATE: Failure = failure(
  'WITHDRAWN',
  'what this answers was withdrawn before the answer was taken; it has no effect',
)

/** Code of the calls that did not run because somebody, or a rule, did not allow it. */
export const CALL_DENIED = 'TOOL_DENIED'
export const DENIED_BY_TIME: Failure = failure(CALL_DENIED, 'nobody allowed this call in time; it was not run')
export const NOBODY_TO_ASK: Failure = failure(
  CALL_DENIED,
  'this call needs the leave of a person, and nobody can be asked here; it was not run. Name reviewers in its approval rule',
)
export const CALL_WITHDRAWN: Failure = failure(
  'CANCELLED',
  'this call was withdrawn: the person said something else instead; it was not run',
)
export const CALL_INPUT_CHANGED: Failure = failure(
  'TOOL_INPUT_CHANGED',
  'the arguments are not those that were approved; the call was not run',
)
export const QUESTION_EXPIRED: Failure = failure('REQUEST_EXPIRED', 'nobody answered in time; go on without an answer, or ask again')
export const SIGN_IN_DECLINED: Failure = failure('AUTHORIZATION_DECLINED', 'the person did not sign in; the call was not run')
export const SIGN_IN_EXPIRED: Failure = failure('AUTHORIZATION_TIMED_OUT', 'nobody signed in in time; the call was not run')

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

/** A call that was not allowed; what the reviewer said is told as his words. */
export function denied(reason: string | null): Failure {
  const said = reason === null || reason.trim() === '' ? '' : `, and said: ${JSON.stringify(reason)}`
  return failure(CALL_DENIED, `a person did not allow this call${said}; it was not run`)
}

/** By the rule of its author. */
export function deniedByPolicy(reason: string | null): Failure {
  return failure(CALL_DENIED, `this call is not allowed${reason === null ? '' : `: ${reason}`}; it was not run`)
}

export function sessionLimit({ name, limit, used }: { readonly name: string; readonly limit: number; readonly used: number }): Failure {
  return failure(
    'SESSION_LIMIT_REACHED',
    `the session has used ${used} of its ${limit} ${name}, and nobody can be asked here; raise its limit`,
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
