/**
 * A session's events across as many connections as it takes.
 *
 * - S1 A new connection asks for what comes after the last batch that was received whole: nothing is lost, nothing repeated, wherever
 *   the old one was cut. The next batch is read only when the consumer asks for it, so none is received and then forgotten.
 * - S2 It ends normally only when the log has been read to where the caller asked: to the session's end, or to the recorded tail
 *   with `follow: false`. That a server completes its stream is not enough. Whatever else ends it is thrown, with the cursor.
 * - S3 A server that falls silent is as good as gone: after `idleTimeoutMs` the connection is given up.
 * - S4 Stopping to listen, in any way, has no effect on the session.
 */
import { toProblemError } from './errors.js'
import { SessionEndDocument, SessionEventsDocument } from './generated/documents.js'
import type { SessionEventsSubscription, SessionEventsSubscriptionVariables, SessionEventType } from './generated/operations.js'
import type { SessionEvent } from './generated/session-events.js'
import { LostError } from './lost-error.js'
import { IDLE_TIMEOUT_MS, NO_FAILURES, waitToReconnect, type Attempts, type ConnectOptions } from './reconnect.js'
import { linkAbort, toError } from './runtime.js'
import { isSessionEnd, toSessionEvent } from './session-events.js'
import type { Transport } from './transport.js'

/** Events of whole commits. Empty when the server only says that it is there. */
export interface EventBatch {
  readonly events: readonly SessionEvent[]
  /** Where the log stands after them. */
  readonly cursor: string
  /** False while recorded events are replayed, true when they are live. */
  readonly caughtUp: boolean
}

export interface EventStreamOptions extends ConnectOptions {
  /** Only what was recorded after this cursor. Without it and `last`: from the beginning. */
  readonly after?: string | undefined
  /** Only the last so many recorded events, and what follows. Not together with `after`. */
  readonly last?: number | undefined
  /** Only these types; STEP_RETRYING and STEP_INTERRUPTED come with any LLM_* type. */
  readonly types?: readonly SessionEventType[] | undefined
  /** False: ends at the recorded tail. Default true: goes on until the session has ended. */
  readonly follow?: boolean | undefined
}

/** Batches as the server sends them, heartbeats (empty ones) included. */
export function openBatches(transport: Transport, sessionId: string, options: EventStreamOptions = {}): AsyncIterableIterator<EventBatch> {
  return closing(options.signal, (signal) => readBatches(transport, sessionId, { ...options, signal }))
}

/** One event after the other. */
export function openEvents(transport: Transport, sessionId: string, options: EventStreamOptions = {}): AsyncIterableIterator<SessionEvent> {
  return closing(options.signal, async function* (signal) {
    for await (const batch of readBatches(transport, sessionId, { ...options, signal })) yield* batch.events
  })
}

/**
 * An iterator whose `return` takes effect at once. That of a generator waits for the `next` in flight, which on a quiet session
 * may be a long time.
 */
export function closing<Item>(
  parent: AbortSignal | undefined,
  start: (signal: AbortSignal) => AsyncGenerator<Item, void, undefined>,
): AsyncIterableIterator<Item> {
  const link = linkAbort(parent)
  const items = start(link.signal)
  let closed = false
  const iterator: AsyncIterableIterator<Item> = {
    async next() {
      try {
        // Also when more is at hand: an abort takes effect at once.
        if (link.signal.aborted && !closed) throw toError(link.signal.reason)
        const result = closed ? { done: true as const, value: undefined } : await items.next()
        if (result.done === true) link.release()
        return result
      } catch (error) {
        link.release()
        await items.return()
        if (closed) return { done: true, value: undefined }
        throw error
      }
    },
    async return() {
      closed = true
      link.release()
      link.abort(new Error('the consumer has stopped'))
      await items.return().catch(() => undefined)
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => iterator,
  }
  return iterator
}

interface Position extends Attempts {
  cursor: string | null
  sawEnd: boolean
  /** The last batch reached the recorded tail. */
  caughtUp: boolean
}

async function* readBatches(
  transport: Transport,
  sessionId: string,
  options: EventStreamOptions,
): AsyncGenerator<EventBatch, void, undefined> {
  const position: Position = { ...NO_FAILURES, cursor: options.after ?? null, sawEnd: false, caughtUp: false }
  for (;;) {
    let failure: Error
    try {
      yield* readConnection(transport, sessionId, { options, position })
      if (position.sawEnd || (await isComplete(transport, sessionId, { options, position }))) return
      failure = new LostError('the server closed the event stream before its end')
    } catch (error) {
      failure = toError(error)
    }
    await waitToReconnect(transport, failure, { options, attempts: position, cursor: position.cursor })
  }
}

interface Reading {
  readonly options: EventStreamOptions
  readonly position: Position
}

/** Moves `position` with every batch, before it is handed out (S1). */
async function* readConnection(
  transport: Transport,
  sessionId: string,
  { options, position }: Reading,
): AsyncGenerator<EventBatch, void, undefined> {
  const variables: SessionEventsSubscriptionVariables = {
    session: { id: sessionId },
    ...(position.cursor === null ? { last: options.last ?? null } : { after: position.cursor }),
    follow: options.follow ?? true,
    types: options.types ?? null,
  }
  const how = { signal: options.signal, idleTimeoutMs: options.idleTimeoutMs ?? IDLE_TIMEOUT_MS }
  for await (const result of transport.subscribe(SessionEventsDocument, variables, how)) {
    const batch = toBatch(result)
    Object.assign(position, NO_FAILURES)
    position.cursor = batch.cursor
    position.caughtUp = batch.caughtUp
    position.sawEnd = batch.events.some(isSessionEnd)
    yield batch
    if (position.sawEnd) return
  }
}

function toBatch({ sessionEvents }: SessionEventsSubscription): EventBatch {
  if (sessionEvents.__typename !== 'SessionEventsBatch') throw toProblemError(sessionEvents)
  return { events: sessionEvents.events.map(toSessionEvent), cursor: sessionEvents.cursor, caughtUp: sessionEvents.caughtUp }
}

/**
 * Servers and proxies that shut down complete their streams too. The end of a bounded replay is the tail; the end of a followed session,
 * when its event is not among the wanted types, is an ended session whose log was read to where it stands (S2).
 */
async function isComplete(transport: Transport, sessionId: string, { options, position }: Reading): Promise<boolean> {
  if (options.follow === false) return position.caughtUp
  const { session } = await transport.request(SessionEndDocument, { id: sessionId }, { signal: options.signal })
  return session === null || (session.endedAt !== null && session.cursor === position.cursor)
}
