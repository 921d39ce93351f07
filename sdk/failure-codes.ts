/** The `code` of a `Failure`: why a turn, a step, a call or a session failed, or a delivery was rejected. An open set: a newer server may have more. */
export const FAILURE_CODES = [
  'TURN_ITERATION_LIMIT',
  'TURN_TIMEOUT',
  'STEP_INTERRUPTED',
  'STEP_FAILED',
  'SESSION_STALLED',
  'MODEL_RATE_LIMITED',
  'MODEL_UNAVAILABLE',
  'MODEL_REFUSED',
  'MODEL_CONTENT_FILTERED',
  'MODEL_INVALID_REQUEST',
  'MODEL_UNAUTHENTICATED',
  'MODEL_EMPTY_RESPONSE',
  'CONTEXT_OVERFLOW',
  'SESSION_LIMIT_REACHED',
  'OUTPUT_SCHEMA_NOT_FULFILLED',
  'TOOL_FAILED',
  'TOOL_UNKNOWN',
  'TOOL_INPUT_INVALID',
  'TOOL_OUTPUT_INVALID',
  'TOOL_TIMEOUT',
  'TOOL_DENIED',
  'TOOL_INPUT_CHANGED',
  'REQUEST_EXPIRED',
  'AUTHORIZATION_DECLINED',
  'AUTHORIZATION_TIMED_OUT',
  'STATE_TOO_LARGE',
  'TOOL_ABANDONED',
  'CANCELLED',
  'ENDED',
  'DROPPED',
  'WITHDRAWN',
  'CLEARED',
  'COMPACTION_UNAVAILABLE',
  'SESSION_STRANDED',
  'INTERNAL',
] as const
export type FailureCode = (typeof FAILURE_CODES)[number]

/** True for a code that this release of the SDK knows. */
export function isFailureCode(code: string): code is FailureCode {
  return FAILURE_CODES.some((known) => known === code)
}
