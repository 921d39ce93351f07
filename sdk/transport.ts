/**
 * GraphQL over HTTP, and over SSE in distinct connections mode, on `fetch` alone.
 *
 * - T1 A request is sent again only when the server may not have answered it: no reply, a reply cut short, 429, 502, 503, 504. The
 *   body is the same each time, so that a mutation with an idempotency key takes effect once.
 * - T2 Headers and token are asked for at every request and connection: an expired token is not used twice.
 * - T3 A subscription here is one connection. It ends normally only when the server says `complete`; event-stream.ts reconnects.
 */
import type { TypedDocument } from './document.js'
import { GraphqlRequestError, PerdureError } from './errors.js'
import { readResult, type RawResponse } from './graphql-response.js'
import { LostError } from './lost-error.js'
import { linkAbort, toBackoffMs, toError, type Runtime } from './runtime.js'
import { readSse, withinIdle } from './sse.js'

type Awaitable<Value> = Value | Promise<Value>
export type HeadersSource = Readonly<Record<string, string>> | (() => Awaitable<Readonly<Record<string, string>>>)

export interface TransportOptions {
  readonly url: string
  readonly headers?: HeadersSource | undefined
  readonly token?: string | (() => Awaitable<string>) | undefined
  /** The longest that one try of a request may take, milliseconds. */
  readonly requestTimeoutMs: number
  readonly runtime: Runtime
}
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** Tries before NetworkError. Default 6; 1 for a mutation that must not be repeated. */
  readonly maxAttempts?: number
}
export interface SubscribeOptions {
  readonly signal: AbortSignal | undefined
  readonly idleTimeoutMs: number
  /** Called when the server has taken the subscription: what changes from here on is told. */
  readonly onOpen?: (() => void) | undefined
}

export interface Transport {
  readonly url: string
  readonly runtime: Runtime
  request<Result, Variables>(document: TypedDocument<Result, Variables>, variables: Variables, options?: RequestOptions): Promise<Result>
  subscribe<Result, Variables>(
    document: TypedDocument<Result, Variables>,
    variables: Variables,
    options: SubscribeOptions,
  ): AsyncGenerator<Result, void, undefined>
}

const MAX_ATTEMPTS = 6
const RETRY_BACKOFF = { firstMs: 200, maxMs: 5_000 }
const MAX_RETRY_AFTER_MS = 30_000
const RETRYABLE_STATUS: ReadonlySet<number> = new Set([429, 502, 503, 504])

export function createTransport(options: TransportOptions): Transport {
  return {
    url: options.url,
    runtime: options.runtime,
    request: (document, variables, { signal, maxAttempts = MAX_ATTEMPTS } = {}) =>
      requestWithRetries(options, () => requestOnce(options, toBody(document, variables), signal), { signal, maxAttempts }),
    subscribe: (document, variables, how) => subscribeOnce(options, toBody(document, variables), how),
  }
}

function toBody<Result, Variables>(document: TypedDocument<Result, Variables>, variables: Variables): string {
  return JSON.stringify({ query: document.toString(), variables })
}

async function requestWithRetries<Result>(
  options: TransportOptions,
  once: () => Promise<Result>,
  { signal, maxAttempts }: { readonly signal: AbortSignal | undefined; readonly maxAttempts: number },
): Promise<Result> {
  const { runtime, url } = options
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await once()
    } catch (error) {
      if (!(error instanceof LostError)) throw error
      if (attempts >= maxAttempts) throw error.toNetworkError(url, attempts)
      const backoffMs = toBackoffMs(attempts, RETRY_BACKOFF, () => runtime.random())
      await runtime.wait(Math.max(backoffMs, error.retryAfterMs), signal)
    }
  }
}

async function requestOnce<Result>(options: TransportOptions, body: string, signal: AbortSignal | undefined): Promise<Result> {
  const { requestTimeoutMs } = options
  const link = linkAbort(signal)
  const expire = (): Error => new LostError(`no answer within ${requestTimeoutMs} ms`)
  const timer = setTimeout(() => link.abort(expire()), requestTimeoutMs)
  try {
    const response = await open(options, { body, accept: 'application/graphql-response+json, application/json', signal: link.signal })
    return readResult<Result>(await toRaw(options.url, response, link.signal))
  } finally {
    clearTimeout(timer)
    link.release()
  }
}

async function* subscribeOnce<Result>(
  options: TransportOptions,
  body: string,
  how: SubscribeOptions,
): AsyncGenerator<Result, void, undefined> {
  const link = linkAbort(how.signal)
  const onIdle = (): Error => {
    const idle = new LostError(`the event stream was silent for ${how.idleTimeoutMs} ms`)
    link.abort(idle)
    return idle
  }
  const idle = { idleTimeoutMs: how.idleTimeoutMs, onIdle }
  try {
    const response = await withinIdle(open(options, { body, accept: 'text/event-stream', signal: link.signal }), idle)
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true || response.body === null) {
      readResult(await withinIdle(toRaw(options.url, response, link.signal), idle))
      throw new GraphqlRequestError(`${options.url} answered a subscription without an event stream; is it a Perdure server?`, {
        url: options.url,
        status: response.status,
      })
    }
    how.onOpen?.()
    for await (const event of orLost(readSse(response.body, idle), link.signal)) {
      if (event.event === 'complete') return
      if (event.event === 'next') yield readResult<Result>({ url: options.url, status: response.status, isJson: true, text: event.data })
    }
    throw new LostError('the connection was closed before the event stream was complete')
  } finally {
    link.release()
    // Closes the connection when the consumer has stopped; without effect on one that has ended.
    link.abort(new Error('the event stream was closed'))
  }
}

interface Opening {
  readonly body: string
  readonly accept: string
  readonly signal: AbortSignal
}

/** Sends the request. A reply that asks to come again later, or none at all, is a LostError. */
async function open(options: TransportOptions, { body, accept, signal }: Opening): Promise<Response> {
  const headers = await toHeaders(options)
  headers.set('content-type', 'application/json')
  headers.set('accept', accept)
  let response: Response
  try {
    response = await options.runtime.fetch(options.url, { method: 'POST', headers, body, signal })
  } catch (cause) {
    throw toLost(cause, signal, 'could not reach the server')
  }
  if (RETRYABLE_STATUS.has(response.status)) {
    const retryAfterMs = toRetryAfterMs(response.headers.get('retry-after'))
    response.body?.cancel().catch(() => undefined)
    throw new LostError(`the server answered ${response.status}`, { status: response.status, retryAfterMs })
  }
  return response
}

/** Theirs, asked for anew (T2). */
async function toHeaders({ headers, token }: TransportOptions): Promise<Headers> {
  try {
    const all = new Headers(typeof headers === 'function' ? await headers() : headers)
    const bearer = typeof token === 'function' ? await token() : token
    if (bearer !== undefined) all.set('authorization', `Bearer ${bearer}`)
    return all
  } catch (cause) {
    throw new PerdureError('CREDENTIALS', `the client's own headers or token could not be had: ${describe(cause)}`, { cause })
  }
}

async function toRaw(url: string, response: Response, signal: AbortSignal): Promise<RawResponse> {
  const { status, headers } = response
  const isJson = /\bjson\b/.test(headers.get('content-type') ?? '')
  try {
    return { url, status, isJson, text: await response.text() }
  } catch (cause) {
    throw toLost(cause, signal, 'the connection was lost before the answer was complete')
  }
}

/** Faults of the connection as LostError; what our own reader says, and the caller's abort, as they are. */
async function* orLost<Item>(items: AsyncIterable<Item>, signal: AbortSignal): AsyncGenerator<Item, void, undefined> {
  const iterator = items[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await iterator.next().catch((cause: unknown) => {
        throw cause instanceof RangeError
          ? new PerdureError('STREAM_EVENT_TOO_LONG', cause.message, { cause })
          : toLost(cause, signal, 'the connection was lost')
      })
      if (next.done === true) return
      yield next.value
    }
  } finally {
    await iterator.return?.()
  }
}

function toLost(cause: unknown, signal: AbortSignal, what: string): Error {
  if (signal.aborted) return toError(signal.reason)
  return cause instanceof LostError ? cause : new LostError(`${what} (${describe(cause)})`, { cause })
}

/** `fetch failed` says nothing; what it was caused by does. */
function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  return thrown.cause instanceof Error && thrown.cause.message !== '' ? thrown.cause.message : thrown.message
}

/** Seconds or an HTTP date, as RFC 9110 has it; 0 when there is none. */
function toRetryAfterMs(header: string | null): number {
  if (header === null) return 0
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now()
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : 0
}
