/**
 * The one place where what went wrong becomes GraphQL: what the caller did is told with a code and the mend, whatever else
 * is a fault, masked, and found in the log by its errorId.
 */
import { GraphQLError, type GraphQLErrorOptions } from 'graphql'
import { OutcomeUnknown, PerdureError, toMessage } from '../errors.js'
import type { IdSource } from '../ids.js'
import type { Log } from '../session/ports.js'
import { isDatabaseGone } from './database-gone.js'

/** Every `extensions.code` of a top-level error. */
export const ERROR_CODES = [
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'RATE_LIMITED',
  'COMPLEXITY_LIMIT',
  'BAD_USER_INPUT',
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'UNAVAILABLE',
  'INTERNAL_SERVER_ERROR',
] as const
export type ErrorCode = (typeof ERROR_CODES)[number]

/** How the transport answers with it: `spec` leaves the status 200 for clients that accept application/json only. */
interface Http {
  readonly status: number
  readonly spec?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

function error(code: ErrorCode, message: string, http?: Http): GraphQLError {
  return new GraphQLError(message, { extensions: { code, ...(http && { http }) } })
}

/** An argument that no mutation's result could name, e.g. the size of a page. */
export function badUserInput(message: string): GraphQLError {
  return error('BAD_USER_INPUT', message)
}

export function unauthenticated(): GraphQLError {
  return error('UNAUTHENTICATED', 'Who are you? Send credentials that this server knows.', {
    status: 401,
    headers: { 'www-authenticate': 'Bearer' },
  })
}

export function tooComplex(message: string): GraphQLError {
  return error('COMPLEXITY_LIMIT', message, { status: 400, spec: true })
}

/**
 * What a client is told of anything that was thrown: an error of ours as it is; one about the request itself as BAD_USER_INPUT;
 * what will pass by itself as UNAVAILABLE; everything else as INTERNAL_SERVER_ERROR, with its cause in the log, and in development
 * also in the answer.
 */
export function toGraphqlError(
  thrown: unknown,
  { log, ids, development }: { readonly log: Pick<Log, 'error'>; readonly ids: IdSource; readonly development: boolean },
): GraphQLError {
  const original = findOriginal(thrown)
  if (original !== null) {
    const { code, http } = original.extensions
    if (ERROR_CODES.some((known) => known === code)) return original
    if (original.path === undefined || isHttp(http)) return recode(original, http)
  }
  const { path, nodes } = thrown instanceof GraphQLError ? thrown : { path: undefined, nodes: undefined }
  const place = { ...(path && { path }), ...(nodes && { nodes }) }
  const err: unknown = thrown instanceof GraphQLError ? (thrown.originalError ?? thrown) : thrown
  if (isStopping(err)) return unavailable('The server is stopping; resume from your cursor.', place)
  if (isPassing(err)) return unavailable(NO_ANSWER, place)
  if (isDatabaseGone(err)) {
    log.error('the database did not answer a request', { err, path })
    return unavailable(NO_ANSWER, place)
  }
  const errorId = ids.next('err')
  log.error('a request failed by a fault of ours', { errorId, err, path })
  return new GraphQLError(`Something went wrong here, not with your request; the log has it under ${errorId}.`, {
    ...place,
    extensions: {
      code: 'INTERNAL_SERVER_ERROR' satisfies ErrorCode,
      errorId,
      http: { status: 500, spec: true },
      ...(development && { cause: toMessage(thrown) }),
    },
  })
}

/** Whether it took effect is not known; with its idempotency key it may be repeated. */
const NO_ANSWER = 'The database does not answer just now. Send the request again; with its idempotency key it takes effect once.'

/** The database did not answer a write, or racing callers kept winning. */
function isPassing(err: unknown): boolean {
  return err instanceof OutcomeUnknown || (err instanceof PerdureError && err.code === 'BUSY')
}

/** The feed was closed under a subscription that had not come to its end. */
function isStopping(err: unknown): boolean {
  return err instanceof PerdureError && err.code === 'SHUTTING_DOWN'
}

function unavailable(message: string, place: Pick<GraphQLErrorOptions, 'path' | 'nodes'>): GraphQLError {
  return new GraphQLError(message, {
    ...place,
    extensions: { code: 'UNAVAILABLE' satisfies ErrorCode, http: { status: 503, headers: { 'retry-after': '1' } } },
  })
}

/** Null for whatever was not thrown as a GraphQLError to begin with. */
function findOriginal(thrown: unknown): GraphQLError | null {
  if (!(thrown instanceof GraphQLError)) return null
  return thrown.originalError === undefined || thrown.originalError instanceof GraphQLError ? thrown : null
}

/** Variables that do not fit a subscription: refused before anything is streamed. */
export function badVariables(refused: GraphQLError): GraphQLError {
  return recode(refused, { status: 400 })
}

/** The libraries' own complaints: a body that is none, which is no GraphQL whatever is accepted; variables that do not fit. */
function recode({ message, nodes, source, positions, path }: GraphQLError, http: unknown): GraphQLError {
  return new GraphQLError(message, {
    ...(nodes && { nodes }),
    ...(source && { source }),
    ...(positions && { positions }),
    ...(path && { path }),
    extensions: { code: 'BAD_USER_INPUT' satisfies ErrorCode, http: isHttp(http) ? { ...http, spec: false } : { status: 400, spec: true } },
  })
}

function isHttp(http: unknown): http is Http {
  return typeof http === 'object' && http !== null && 'status' in http
}
