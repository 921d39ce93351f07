/**
 * The streamed events of one lease on their way to the log: what is pending, and what is in flight. The writer decides when; this
 * decides what, and is what the driver of the session holds.
 *
 * - Between `take` and `resume` nothing begins to be written: the commit is the one writer (R2).
 * - After `close`, and after the lease was fenced off, nothing begins to be written any more.
 * - Memory: at most `maxPendingBytes` and what was emitted without waiting for `ready`.
 */
import type { StreamedEvent } from '../session/events.js'
import type { EventStream } from '../session/ports.js'
import type { Lease } from '../session/session.js'
import { backOffMs } from './back-off.js'
import { PendingEvents } from './pending-events.js'

export interface SessionStreamOptions {
  readonly lease: Lease
  readonly maxPendingBytes: number
  /** There is something to write, maybe more or more urgent than before. */
  readonly onPending: (stream: SessionStream) => void
  /** Nothing is left to write: taken, or closed. */
  readonly onEmpty: (stream: SessionStream) => void
  readonly onClosed: (stream: SessionStream) => void
}

/** What became of the events that `begin` gave. `refused-*`: the statement failed, with others in it or with this session alone. */
export type WriteResult = 'written' | 'busy' | 'refused-together' | 'refused-alone'

interface Flight {
  readonly events: readonly StreamedEvent[]
  readonly bytes: number
  readonly waiting: (() => void)[]
}

export class SessionStream implements EventStream {
  readonly lease: Lease
  readonly #options: SessionStreamOptions
  readonly #pending = new PendingEvents()
  #flight: Flight | null = null
  #waitingForRoom: (() => void)[] = []
  #isPaused = false
  #isClosed = false
  #isUrgent = false
  #failures = 0
  #retryAt = -Infinity
  #isSuspect = false

  constructor(options: SessionStreamOptions) {
    this.lease = options.lease
    this.#options = options
  }

  // ---- for the driver

  emit(event: StreamedEvent): void {
    if (this.#isClosed) return
    this.#pending.add(event)
    if (isFirstOfBlock(event)) this.#isUrgent = true
    this.#options.onPending(this)
  }

  ready(): Promise<void> {
    if (this.#hasRoom()) return Promise.resolve()
    return new Promise((resolve) => this.#waitingForRoom.push(resolve))
  }

  async take(): Promise<readonly StreamedEvent[]> {
    this.#isPaused = true
    const flight = this.#flight
    if (flight !== null) await new Promise<void>((resolve) => flight.waiting.push(resolve))
    const rest = this.#pending.takeAll()
    this.#recover()
    this.#isUrgent = false
    this.#options.onEmpty(this)
    this.#announceRoom()
    return rest
  }

  resume(unwritten: readonly StreamedEvent[]): void {
    if (this.#isClosed) return
    this.#pending.putBack(unwritten)
    this.#isUrgent ||= unwritten.some(isFirstOfBlock)
    this.#isPaused = false
    if (!this.#pending.isEmpty) this.#options.onPending(this)
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#pending.clear()
    this.#options.onEmpty(this)
    this.#options.onClosed(this)
    this.#announceRoom()
  }

  // ---- for the writer

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** A block begins in what is pending: somebody waits for the first sight of it. */
  get isUrgent(): boolean {
    return this.#isUrgent
  }

  /** A statement with it failed: it is written alone until one succeeds, so that it can't keep others from being written. */
  get isSuspect(): boolean {
    return this.#isSuspect
  }

  /** Not to be tried before, monotonic. */
  get retryAt(): number {
    return this.#retryAt
  }

  get canBegin(): boolean {
    return !this.#isPaused && !this.#isClosed && this.#flight === null && !this.#pending.isEmpty
  }

  get pendingBytes(): number {
    return this.#pending.bytes
  }

  /** Hands over what is pending, as in flight until `end`. */
  begin(): readonly StreamedEvent[] {
    const bytes = this.#pending.bytes
    const events = this.#pending.takeAll()
    this.#flight = { events, bytes, waiting: [] }
    this.#isUrgent = false
    this.#options.onEmpty(this)
    return events
  }

  /** Ends the flight. What was not written goes back in front, unless the stream was closed meanwhile. */
  end(result: WriteResult, now: number): void {
    const flight = this.#flight
    if (flight === null) return
    this.#flight = null
    if (result === 'written' || result === 'busy') this.#recover()
    else this.#isSuspect = true
    if (result === 'refused-alone') {
      this.#failures += 1
      this.#retryAt = now + backOffMs(this.#failures)
    }
    if (result !== 'written' && !this.#isClosed) {
      this.#pending.putBack(flight.events)
      this.#options.onPending(this)
    }
    for (const resolve of flight.waiting) resolve()
    this.#announceRoom()
  }

  #recover(): void {
    this.#failures = 0
    this.#retryAt = -Infinity
    this.#isSuspect = false
  }

  #hasRoom(): boolean {
    return this.#isClosed || this.#pending.bytes + (this.#flight?.bytes ?? 0) < this.#options.maxPendingBytes
  }

  #announceRoom(): void {
    if (this.#waitingForRoom.length === 0 || !this.#hasRoom()) return
    const waiting = this.#waitingForRoom
    this.#waitingForRoom = []
    for (const resolve of waiting) resolve()
  }
}

function isFirstOfBlock(event: StreamedEvent): boolean {
  return event.type !== 'TOOL_CALL_PROGRESS' && event.data.offset === 0
}
