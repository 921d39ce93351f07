/**
 * Writes the streamed events of all sessions of the process, between their commits: group commit.
 *
 * - One append in flight at a time; what is emitted meanwhile waits and is joined, so a slow database makes fewer, larger appends.
 * - The beginning of a block is written as soon as the macrotask that emitted it is over: a model that answers at once never causes an
 *   append, its pieces ride in the commit (`take`). What follows is written every `flushIntervalMs`, for all sessions together.
 * - When an append fails its sessions are written one by one, beside the others, until a statement of theirs succeeds: no session keeps
 *   another from being written. What keeps failing backs off; the order within a session never changes.
 * - An append whose reply was lost is repeated, and may then be in the log twice. Offsets make that harmless: a reader that cuts a block
 *   at a piece's offset before it adds the piece reads the same text, and the completed block holds the truth.
 * - Written, then published (R5).
 */
import type { Clock } from '../clock.js'
import { assertNever } from '../errors.js'
import type { SessionId } from '../ids.js'
import type { RecordedEvent } from '../session/events.js'
import type { AppendBatch, AppendOutcome, Coordinator, EventStream, Log, SessionStore } from '../session/ports.js'
import type { Lease } from '../session/session.js'
import { backOffMs } from './back-off.js'
import { createLane, type Lane } from './lane.js'
import { SessionStream } from './session-stream.js'

export interface EventWriterOptions {
  readonly store: Pick<SessionStore, 'appendEvents'>
  readonly coordinator: Pick<Coordinator, 'publish'>
  readonly clock: Clock
  /** What an append extends its leases by. */
  readonly ttlMs: number
  readonly log: Pick<Log, 'warn' | 'error'>
  /** Between two appends of the same streams. Default: 20. */
  readonly flushIntervalMs?: number
  /** Of one stream, pending and in flight, before `ready` makes its source wait. Default: 256 KiB. */
  readonly maxPendingBytes?: number
}

export interface EventWriter {
  /**
   * Opens the stream of a lease; whoever opens it closes it. A stream of an older lease of the session that is still open is fenced off.
   * `onFenced` is called once, when an append finds that a newer lease exists (R2); the stream is closed then.
   */
  open(lease: Lease, options: { readonly onFenced: () => void }): EventStream
  /** Writes at once what is pending and waits for it. What the database refuses is left: it backs off, and is not waited for. */
  drain(): Promise<void>
}

/** Keeps one statement from growing without bound after a stall; the rest goes into the next one. */
const MAX_APPEND_BYTES = 4 * 1024 * 1024
/** Timers may fire this much early on the monotonic clock. */
const TIMER_SLACK_MS = 1

export function createEventWriter(options: EventWriterOptions): EventWriter {
  return new GroupWriter(options)
}

interface Holder {
  readonly stream: SessionStream
  readonly onFenced: () => void
}

class GroupWriter implements EventWriter {
  readonly #options: EventWriterOptions
  readonly #intervalMs: number
  readonly #open = new Map<SessionId, Holder>()
  /** The streams with something pending. */
  readonly #waiting = new Set<SessionStream>()
  /** Writes all streams but the suspects, together. */
  readonly #together: Lane
  /** Writes the suspects, one by one. */
  readonly #alone: Lane
  #nextFullAt = -Infinity
  #failuresAlone = 0
  #aloneFrom = -Infinity
  #passes = 0
  #passEnded: (() => void)[] = []

  constructor(options: EventWriterOptions) {
    this.#options = options
    this.#intervalMs = options.flushIntervalMs ?? 20
    this.#together = createLane(options.clock, () => this.#pass(() => this.#writeTogether()))
    this.#alone = createLane(options.clock, () => this.#pass(() => this.#writeAlone()))
  }

  open(lease: Lease, { onFenced }: { readonly onFenced: () => void }): EventStream {
    const other = this.#open.get(lease.sessionId)
    const stream = new SessionStream({
      lease,
      maxPendingBytes: this.#options.maxPendingBytes ?? 256 * 1024,
      onPending: (pending) => {
        this.#waiting.add(pending)
        this.#request(pending)
      },
      onEmpty: (empty) => this.#waiting.delete(empty),
      onClosed: (closed) => {
        if (this.#open.get(lease.sessionId)?.stream === closed) this.#open.delete(lease.sessionId)
      },
    })
    if (other !== undefined && other.stream.lease.epoch > lease.epoch) {
      this.#fence({ stream, onFenced })
      return stream
    }
    this.#open.set(lease.sessionId, { stream, onFenced })
    if (other !== undefined) this.#fence(other)
    return stream
  }

  async drain(): Promise<void> {
    this.#nextFullAt = -Infinity
    this.#requestAll()
    while (!this.#isIdle()) await new Promise<void>((resolve) => this.#passEnded.push(resolve))
  }

  #isIdle(): boolean {
    if (this.#passes > 0) return false
    const now = this.#options.clock.monotonic()
    return ![...this.#waiting].some((stream) => stream.canBegin && !(stream.isSuspect && this.#startsAt(stream) > now))
  }

  #request(stream: SessionStream): void {
    const lane = stream.isSuspect ? this.#alone : this.#together
    lane.request(this.#startsAt(stream))
  }

  #requestAll(): void {
    for (const stream of this.#waiting) if (stream.canBegin) this.#request(stream)
  }

  #startsAt(stream: SessionStream): number {
    if (stream.isSuspect) return Math.max(stream.retryAt, this.#aloneFrom)
    return stream.isUrgent ? -Infinity : this.#nextFullAt
  }

  async #pass(write: () => Promise<void>): Promise<void> {
    this.#passes += 1
    await write()
    this.#passes -= 1
    this.#requestAll()
    const waiting = this.#passEnded
    this.#passEnded = []
    for (const resolve of waiting) resolve()
  }

  async #writeTogether(): Promise<void> {
    const now = this.#options.clock.monotonic()
    const isFull = now >= this.#nextFullAt - TIMER_SLACK_MS
    const due = [...this.#waiting].filter((stream) => stream.canBegin && !stream.isSuspect && (isFull || stream.isUrgent))
    const streams = withinBytes(due, MAX_APPEND_BYTES)
    if (streams.length === 0) return
    if (isFull && streams.length === due.length) this.#nextFullAt = now + this.#intervalMs
    await this.#append(streams, 'refused-together')
  }

  /** After two failures in a row the database itself is in doubt, and the next session waits too. */
  async #writeAlone(): Promise<void> {
    for (;;) {
      const now = this.#options.clock.monotonic() + TIMER_SLACK_MS
      const stream = [...this.#waiting].find((one) => one.canBegin && one.isSuspect && this.#startsAt(one) <= now)
      if (stream === undefined) return
      const wasWritten = await this.#append([stream], 'refused-alone')
      this.#failuresAlone = wasWritten ? 0 : this.#failuresAlone + 1
      if (this.#failuresAlone > 1) this.#aloneFrom = this.#options.clock.monotonic() + backOffMs(this.#failuresAlone - 1)
    }
  }

  /** False when something was refused. Never throws. */
  async #append(streams: readonly SessionStream[], refusal: 'refused-together' | 'refused-alone'): Promise<boolean> {
    const outcomes = await this.#ask(streams.map((stream) => ({ lease: stream.lease, events: stream.begin() })))
    const now = this.#options.clock.monotonic()
    const refused = streams.filter((stream) => {
      const outcome = outcomes.get(stream.lease.sessionId)
      if (outcome !== undefined) this.#settle(stream, outcome, now)
      return outcome === undefined
    })
    for (const stream of refused) stream.end(refusal, now)
    return refused.length === 0
  }

  async #ask(batches: readonly AppendBatch[]): Promise<ReadonlyMap<SessionId, AppendOutcome>> {
    const { log, store, ttlMs } = this.#options
    try {
      return await store.appendEvents(batches, ttlMs)
    } catch (err) {
      log.warn('streamed events could not be written; they are kept and written again', { err, sessions: batches.length })
      return new Map()
    }
  }

  #settle(stream: SessionStream, outcome: AppendOutcome, now: number): void {
    const { sessionId } = stream.lease
    switch (outcome.kind) {
      case 'appended':
        this.#publish(sessionId, outcome.events)
        stream.end('written', now)
        return
      case 'busy':
        stream.end('busy', now)
        return
      case 'fenced': {
        const holder = this.#open.get(sessionId)
        if (holder?.stream === stream) this.#fence(holder)
        stream.end('written', now)
        return
      }
      default:
        assertNever(outcome)
    }
  }

  #publish(sessionId: SessionId, events: readonly RecordedEvent[]): void {
    try {
      this.#options.coordinator.publish(sessionId, events)
    } catch (err) {
      this.#options.log.warn('live subscribers could not be told of written events; they find them in the log', { err, session: sessionId })
    }
  }

  #fence({ stream, onFenced }: Holder): void {
    stream.close()
    try {
      onFenced()
    } catch (err) {
      this.#options.log.error('the owner of a fenced lease could not be told', { err, session: stream.lease.sessionId })
    }
  }
}

/** As many as fit, at least one. */
function withinBytes(streams: readonly SessionStream[], maxBytes: number): readonly SessionStream[] {
  let bytes = 0
  const end = streams.findIndex((stream, index) => {
    bytes += stream.pendingBytes
    return index > 0 && bytes > maxBytes
  })
  return end === -1 ? streams : streams.slice(0, end)
}
