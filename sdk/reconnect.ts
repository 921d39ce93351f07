/** When a connection that is followed is made anew, and when it is given up. */
import { GraphqlRequestError, NetworkError, PerdureError } from './errors.js'
import { LostError } from './lost-error.js'
import { toBackoffMs, toError } from './runtime.js'
import type { Transport } from './transport.js'

export interface Reconnect {
  /** What ended the last connection. */
  readonly error: Error
  /** Failures since something was last received, from 1. */
  readonly failures: number
  readonly delayMs: number
  /** Where an event stream stands; null for other lists, which are read again. */
  readonly lastCursor: string | null
}

export interface ConnectOptions {
  /** Stops listening; the iteration throws its reason. */
  readonly signal?: AbortSignal | undefined
  /** The longest silence before the connection is made anew, milliseconds. Default 45,000; the server says something every 15,000. */
  readonly idleTimeoutMs?: number | undefined
  /** How many connections in a row may fail without anything received. Default: no limit. */
  readonly maxReconnects?: number | undefined
  /** Called before each wait for a new connection. */
  readonly onReconnect?: ((info: Reconnect) => void) | undefined
}

export const IDLE_TIMEOUT_MS = 45_000
const RECONNECT_BACKOFF = { firstMs: 250, maxMs: 15_000 }
/** A bug of the server does not get better by asking for ever. */
const MAX_INTERNAL_ERRORS = 5

/** Since something was last received. */
export interface Attempts {
  failures: number
  /** Of the failures, those by a fault inside the server. */
  internalErrors: number
}
export const NO_FAILURES: Readonly<Attempts> = { failures: 0, internalErrors: 0 }

interface Standing {
  readonly options: ConnectOptions
  readonly attempts: Attempts
  readonly cursor: string | null
}

/** Counts the failure and waits before the next connection, or throws when there should be none. */
export async function waitToReconnect(transport: Transport, failure: Error, { options, attempts, cursor }: Standing): Promise<void> {
  const { signal, maxReconnects = Infinity, onReconnect } = options
  if (signal?.aborted === true) throw toError(signal.reason)
  attempts.failures += 1
  if (isInternal(failure)) attempts.internalErrors += 1
  if (!isWorthAnotherTry(failure, attempts)) throw withCursor(failure, cursor)
  const error = failure instanceof LostError ? failure.toNetworkError(transport.url, attempts.failures) : failure
  if (attempts.failures > maxReconnects) throw withCursor(error, cursor)
  const backoffMs = toBackoffMs(attempts.failures, RECONNECT_BACKOFF, () => transport.runtime.random())
  const delayMs = Math.max(backoffMs, failure instanceof LostError ? failure.retryAfterMs : 0)
  onReconnect?.({ error, failures: attempts.failures, delayMs, lastCursor: cursor })
  await transport.runtime.wait(delayMs, signal)
}

function isWorthAnotherTry(failure: Error, { internalErrors }: Attempts): boolean {
  if (failure instanceof LostError || failure instanceof NetworkError) return true
  if (isInternal(failure)) return internalErrors < MAX_INTERNAL_ERRORS
  // Within a stream, whose status is 200 already, what 503 says elsewhere: the server stops, or its database does not answer.
  return failure instanceof GraphqlRequestError && failure.code === 'UNAVAILABLE'
}

function isInternal(failure: Error): boolean {
  return failure instanceof GraphqlRequestError && failure.code === 'INTERNAL_SERVER_ERROR'
}

function withCursor(failure: Error, cursor: string | null): Error {
  if (failure instanceof PerdureError) failure.lastCursor = cursor
  return failure
}
