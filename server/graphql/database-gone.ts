/**
 * Whether something that was thrown says that the database could not be reached, or was lost while it was asked. Depending on the
 * layer that noticed, it is an error of Prisma, of its driver adapter, of pg or of the socket, and one stands in the other.
 */

/** Prisma: not reached, timed out, took too long, closed the connection; no free connection in time. */
const PRISMA_CODES: ReadonlySet<string> = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024'])
const ADAPTER_KINDS: ReadonlySet<string> = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout'])
const SOCKET_CODES: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'],
])
/** PostgreSQL: connection exceptions, and a server that shuts down, crashed or is starting. */
const SQL_STATE = /^(08\w{3}|57P\w{2})$/
/** Of pg and its pool, which give these no code. */
const MESSAGE =
  /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/
/** Where one error stands in another. */
const INNER = ['cause', 'meta', 'driverAdapterError'] as const
/** They stand a few deep in each other; a cycle must not hold a request up. */
const MAX_DEPTH = 8

export function isDatabaseGone(thrown: unknown, depth = 0): boolean {
  if (typeof thrown !== 'object' || thrown === null || depth > MAX_DEPTH) return false
  const read = (name: string): unknown => Reflect.get(thrown, name)
  if ([read('code'), read('errorCode'), read('originalCode')].some(isGoneCode)) return true
  if (isIn(ADAPTER_KINDS, read('kind'))) return true
  const message = read('message')
  if (typeof message === 'string' && MESSAGE.test(message)) return true
  return INNER.some((name) => isDatabaseGone(read(name), depth + 1))
}

function isGoneCode(code: unknown): boolean {
  return isIn(PRISMA_CODES, code) || isIn(SOCKET_CODES, code) || (typeof code === 'string' && SQL_STATE.test(code))
}

function isIn(known: ReadonlySet<string>, value: unknown): boolean {
  return typeof value === 'string' && known.has(value)
}
