/**
 * Every error that Perdure raises on purpose.
 *
 * Expected outcomes of a mutation are values, not exceptions: a `Problem` names what happened and how to mend it,
 * and becomes a type of the GraphQL schema. Only faults (a bug, a broken setup) are thrown, as `PerdureError`.
 */

/** The closed set of expected failures of a mutation. It stands in the schema, so that an SDK can be complete over it. */
export const PROBLEM_CODES = [
  'NOT_FOUND',
  'FORBIDDEN',
  'INVALID_INPUT',
  'SESSION_ENDED',
  'SESSION_STRANDED',
  'ADDRESS_TAKEN',
  'REQUEST_NOT_PENDING',
  'IDEMPOTENCY_MISMATCH',
  'LIMIT_EXCEEDED',
] as const
export type ProblemCode = (typeof PROBLEM_CODES)[number]

/** Why a turn, a step, a call or a session failed, as it is recorded and shown. `code` is an open set in upper case. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly retryable: boolean
  readonly details?: { readonly [key: string]: Json }
}

/** A JSON value: what may be stored in a column or sent to a client. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/**
 * A fault with a stable code, a sentence that names the thing and the mend, and, for the command line, an exit code.
 * `hint` is a line that a person can copy.
 */
export class PerdureError extends Error {
  readonly code: string
  readonly hint: string | undefined

  constructor(code: string, message: string, options: { readonly hint?: string; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'PerdureError'
    this.code = code
    this.hint = options.hint
  }
}

/** Ends a `switch` over a union: does not compile when an arm is missing, throws when data from outside slips through. */
export function assertNever(value: never): never {
  throw new PerdureError('INTERNAL', `unexpected value ${JSON.stringify(value)}`)
}

/** The message of anything that was thrown. */
export function toMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/**
 * A write whose reply was lost: it may or may not have been applied. Repeating the same write is safe and tells which; so does
 * a read. Never a reason to do something else instead.
 */
export class OutcomeUnknown extends PerdureError {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super('STORE_UNAVAILABLE', message, options)
    this.name = 'OutcomeUnknown'
  }
}
