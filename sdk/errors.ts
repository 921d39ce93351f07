/**
 * Everything that the SDK throws, but for the reason of your own AbortSignal. A mutation's expected failures (`Problem` in the
 * schema) have one class each; the others say what went wrong on the way to the server.
 */
import type { InputRequestFieldsFragment, ProblemCode, ProblemFieldsFragment } from './generated/operations.js'

export type { ProblemCode }

/** What they all are. `code` is stable; the message names the thing and the mend. */
export class PerdureError extends Error {
  readonly code: string
  /** Where an event stream stood when it was given up: pass it as `after` to go on without loss or repeat. Null elsewhere. */
  lastCursor: string | null = null

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

/** The server understood the request and refused it, for a reason that the schema lists. */
export class ProblemError extends PerdureError {
  constructor(problem: Pick<ProblemFieldsFragment, 'code' | 'message'>) {
    super(problem.code, problem.message)
  }
}

/** There is no such thing, or the caller may not see it. */
export class NotFoundError extends ProblemError {
  /** What was not found, if it has an id. */
  readonly id: string | null

  constructor(problem: ProblemFieldsFragment) {
    super(problem)
    this.id = problem.__typename === 'NotFoundError' ? problem.id : null
  }
}

/** The caller may see the thing, but not do this to it. */
export class ForbiddenError extends ProblemError {}

/** The input does not make sense; `issues` says where and why. */
export class InvalidInputError extends ProblemError {
  readonly issues: readonly { readonly path: readonly string[]; readonly message: string }[]

  constructor(problem: ProblemFieldsFragment) {
    super(problem)
    this.issues = problem.__typename === 'InvalidInputError' ? problem.issues : []
  }
}

/** The session has ended for good: create a new one, or send to its address. */
export class SessionEndedError extends ProblemError {
  readonly sessionId: string | null

  constructor(problem: ProblemFieldsFragment) {
    super(problem)
    this.sessionId = problem.__typename === 'SessionEndedError' ? problem.session.id : null
  }
}

/** No live deployment can read the session; what was recorded can still be read, and `end` works. */
export class SessionStrandedError extends ProblemError {}

/** Another open session holds the address; nothing was changed. */
export class AddressTakenError extends ProblemError {
  readonly address: string | null
  /** The session that holds it, if the caller may see it. */
  readonly holder: string | null

  constructor(problem: ProblemFieldsFragment) {
    super(problem)
    const details = problem.__typename === 'AddressTakenError' ? problem : null
    this.address = details?.address ?? null
    this.holder = details?.holder ?? null
  }
}

/** A request was answered, withdrawn or has expired; the first answer stands, and nothing of what was said now was accepted. */
export class RequestNotPendingError extends ProblemError {
  /** Those that are not open any more, with their first answers. */
  readonly requests: readonly InputRequestFieldsFragment[]

  constructor(problem: ProblemFieldsFragment) {
    super(problem)
    this.requests = problem.__typename === 'RequestNotPendingError' ? problem.requests : []
  }
}

/** The idempotency key was used for something else: use a new key for a new message. */
export class IdempotencyMismatchError extends ProblemError {}

/** A limit of the server was reached. */
export class LimitExceededError extends ProblemError {
  readonly limit: string | null
  /** When to try again, milliseconds; null when waiting does not help. */
  readonly retryAfterMs: number | null

  constructor(problem: ProblemFieldsFragment) {
    super(problem)
    const details = problem.__typename === 'LimitExceededError' ? problem : null
    this.limit = details?.limit ?? null
    this.retryAfterMs = details?.retryAfterMs ?? null
  }
}

/** Complete over the schema's codes: a code without a class does not compile. */
const PROBLEM_ERRORS = {
  NOT_FOUND: NotFoundError,
  FORBIDDEN: ForbiddenError,
  INVALID_INPUT: InvalidInputError,
  SESSION_ENDED: SessionEndedError,
  SESSION_STRANDED: SessionStrandedError,
  ADDRESS_TAKEN: AddressTakenError,
  REQUEST_NOT_PENDING: RequestNotPendingError,
  IDEMPOTENCY_MISMATCH: IdempotencyMismatchError,
  LIMIT_EXCEEDED: LimitExceededError,
} satisfies Record<ProblemCode, new (problem: ProblemFieldsFragment) => ProblemError>

/** The error of a problem; a code that a newer server has added becomes a plain ProblemError. */
export function toProblemError(problem: ProblemFieldsFragment): ProblemError {
  return Object.hasOwn(PROBLEM_ERRORS, problem.code) ? new PROBLEM_ERRORS[problem.code](problem) : new ProblemError(problem)
}

/** The server does not accept the credentials, or asks for some. */
export class UnauthenticatedError extends PerdureError {
  constructor(message: string) {
    super('UNAUTHENTICATED', message)
  }
}

/** The server could not be reached, or the connection was lost, as often as it was tried. */
export class NetworkError extends PerdureError {
  readonly url: string
  /** The HTTP status of the last answer; null when there was none. */
  readonly status: number | null
  /** Tries made. */
  readonly attempts: number

  constructor(
    what: string,
    details: { readonly url: string; readonly status?: number; readonly attempts?: number; readonly cause?: unknown },
  ) {
    const { url, status, attempts = 1, cause } = details
    const tries = attempts === 1 ? '' : `, tried ${attempts} times`
    super('NETWORK', `${url}: ${what}${tries}`, cause === undefined ? undefined : { cause })
    this.url = url
    this.status = status ?? null
    this.attempts = attempts
  }
}

/** One of the `errors` of a GraphQL response. */
export interface GraphqlErrorInfo {
  readonly message: string
  readonly path?: readonly (string | number)[]
  readonly extensions?: { readonly [key: string]: unknown }
}

/** The server answered with GraphQL errors, or with something that is not GraphQL. `code` is the first error's extension code. */
export class GraphqlRequestError extends PerdureError {
  readonly url: string
  readonly status: number
  readonly errors: readonly GraphqlErrorInfo[]
  /** What came beside the errors. */
  readonly data: unknown

  constructor(
    message: string,
    details: { readonly url: string; readonly status: number; readonly errors?: readonly GraphqlErrorInfo[]; readonly data?: unknown },
  ) {
    const errors = details.errors ?? []
    const code = errors[0]?.extensions?.['code']
    super(typeof code === 'string' ? code : 'GRAPHQL_REQUEST', message)
    this.url = details.url
    this.status = details.status
    this.errors = errors
    this.data = details.data ?? null
  }
}

/** What was waited for did not come in time. It was not cancelled: the server goes on with it. */
export class TimeoutError extends PerdureError {
  readonly timeoutMs: number

  constructor(what: string, timeoutMs: number) {
    super('TIMEOUT', `${what} took longer than ${timeoutMs} ms`)
    this.timeoutMs = timeoutMs
  }
}
