/**
 * One streamed call to an OpenAI-compatible server.
 *
 * The `openai` package builds and sends the request; the events are read here (event-stream.ts), because its own reader copies and
 * scans a long event again for every piece of it, has no cap, and does not tell silence from work.
 *
 * Rules:
 * - O1 A call ends with its signal: aborting closes the socket at once, and so does a consumer that stops reading.
 * - O2 A call does not hang: silence of `idleTimeoutMs` ends it, and comments alone do not count as progress for ever.
 * - O3 An answer that came to its end leaves its connection open for the next one.
 */
import type { Clock } from '../clock.js'
import { toMessage } from '../errors.js'
import { ModelError } from '../session/model.js'
import { classifyError, placeOf, ReportedError, unavailable, type Provider } from './classify-error.js'
import { EventDecoder, type ServerEvent } from './event-stream.js'
import { IdleWatch } from './idle-watch.js'
import { isRecord, recordAt, textAt, type JsonRecord } from './loose-json.js'
import type { Connection } from './openai-connection.js'

/** How long a finished answer may take to close its response before its connection is given up (O3). */
const DRAIN_MS = 100

export interface Call {
  readonly send: (signal: AbortSignal) => Promise<Response>
  /** True for the event after which nothing more of the answer comes. */
  readonly isLast: (event: JsonRecord) => boolean
}
type Reader = ReadableStreamDefaultReader<Uint8Array>

/** Makes one call and reads its events as they come. Throws ModelError; rethrows the abort reason when `signal` aborts. */
export async function* readEvents(connection: Connection, call: Call, signal: AbortSignal): AsyncGenerator<JsonRecord, void, undefined> {
  signal.throwIfAborted()
  const { clock, provider } = connection
  const watch = new IdleWatch(clock, connection.idleTimeoutMs, signal)
  try {
    const response = await watch.during(call.send(watch.signal))
    const reader = response.body?.getReader()
    if (reader === undefined) throw notAStream(response, provider)
    let count = 0
    for await (const event of eventsOf(reader, watch)) {
      count += 1
      const parsed = event.data === '[DONE]' ? null : parseEvent(event)
      if (parsed !== null) yield parsed
      signal.throwIfAborted()
      if (parsed !== null && !call.isLast(parsed)) continue
      await drain(reader, clock)
      return
    }
    if (count === 0) throw notAStream(response, provider)
  } catch (thrown) {
    signal.throwIfAborted()
    if (watch.expired) throw unavailable(provider, silence(connection), thrown)
    throw classifyError(thrown, provider, clock.now())
  } finally {
    watch.stop()
  }
}

async function* eventsOf(reader: Reader, watch: IdleWatch): AsyncGenerator<ServerEvent, void, undefined> {
  const decoder = new EventDecoder()
  for (;;) {
    const { done, value } = await watch.during(reader.read())
    const events = done ? decoder.end() : decoder.push(value)
    if (events.length > 0) watch.progress()
    yield* events
    if (done) return
  }
}

/** Reads what little is left of a finished answer, so that its connection can be used again (O3). */
async function drain(reader: Reader, clock: Clock): Promise<void> {
  const cancelTimer = clock.after(DRAIN_MS, () => void reader.cancel().catch(() => undefined))
  try {
    while (!(await reader.read()).done);
  } catch {
    // The answer is complete; how its connection ended does not matter any more.
  } finally {
    cancelTimer()
  }
}

function silence({ provider, idleTimeoutMs }: Connection): string {
  return `${placeOf(provider)} sent nothing of its answer for ${idleTimeoutMs / 1000} s; try again, or raise idleTimeoutMs if the model thinks longer`
}

/** Most often the page of some other server: the base URL is wrong. An event stream without events was cut off, which may pass. */
function notAStream(response: Response, provider: Provider): ModelError {
  const type = response.headers.get('content-type') ?? 'nothing'
  if (type.includes('event-stream')) return unavailable(provider, `${placeOf(provider)} ended its answer before it began; try again`)
  const message = `${placeOf(provider)} answered with ${type} instead of an event stream; check the base URL, and that the server can stream`
  return new ModelError({
    code: 'MODEL_INVALID_REQUEST',
    message,
    retryable: false,
    details: { host: provider.host, model: provider.model },
  })
}

/** An error inside the stream is `{error}` (Chat Completions), `response.failed` or `error` (Responses), or an event of that name. */
function parseEvent({ name, data }: ServerEvent): JsonRecord {
  const value = parseJson(data)
  if (!isRecord(value)) throw new Error('the server sent an event that is not a JSON object')
  const { error } = value
  const type = textAt(value, 'type')
  if (typeof error === 'string' && error !== '') throw new ReportedError({ ...value, message: error })
  const nested = recordAt(type === 'response.failed' ? (recordAt(value, 'response') ?? {}) : value, 'error')
  if (nested !== null) throw new ReportedError(nested)
  if (name === 'error' || type === 'error' || type === 'response.failed') throw new ReportedError({ ...value, type: '' })
  return value
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    throw new Error(`the server sent an event that is not JSON: ${toMessage(thrown)}`, { cause: thrown })
  }
}
