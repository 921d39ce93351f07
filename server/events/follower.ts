/**
 * One subscriber of one session's log: what it was sent, what it has heard of, and what comes next. It works only when it is asked
 * for a batch, but for reading one page ahead, so a reader that stops asking costs a bounded number of references.
 *
 * - F1 Every event after the cursor is sent once, in order: a publication that does not go on from the cursor is no more than the
 *   news that there is something to read, and what is at or below the cursor is dropped.
 * - F2 Batches hold whole writes, so every cursor is a place where a write ends.
 * - F3 What is published faster than the reader asks is forgotten, and read from the log when it does.
 * - F4 Abort, `return` and the feed's end take effect at once, whatever is being waited for, and leave no timer or subscription.
 * - F5 It completes only where the subscriber has everything, or has left. When the feed ends before, that is thrown.
 */
import type { Clock } from '../clock.js'
import { PerdureError } from '../errors.js'
import type { SessionId } from '../ids.js'
import type { RecordedEvent } from '../session/events.js'
import type { Log, LogTail, SessionStore } from '../session/ports.js'
import type { BatchReader, Taken } from './batch-reader.js'
import { endsLog, Publication, type EventBatch } from './event-batch.js'
import type { EventFilter } from './event-filter.js'
import { Heartbeat } from './heartbeat.js'
import { LiveBuffer } from './live-buffer.js'
import { PageReader, type KnownPage } from './page-reader.js'

export interface FollowerOptions {
  readonly sessionId: SessionId
  readonly after: number
  readonly follow: boolean
  readonly filter: EventFilter
  readonly signal: AbortSignal
}

/** What the followers of a feed have in common. */
export interface FollowerHome {
  readonly store: Pick<SessionStore, 'readEvents'>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  readonly pageSize: number
  readonly maxBufferedEvents: number
  readonly heartbeatMs: number
  /** Called when the first batch is asked for. Resolves once no later publication can be missed; null: there is no feed any more. */
  readonly onStart: (follower: Follower) => Promise<void> | null
  /** Called once, if it was started. */
  readonly onFinish: (follower: Follower) => void
}

export class Follower implements BatchReader {
  readonly sessionId: SessionId
  readonly follow: boolean
  readonly #home: FollowerHome
  readonly #filter: EventFilter
  readonly #signal: AbortSignal
  readonly #reader: PageReader
  readonly #buffer: LiveBuffer
  #heartbeat: Heartbeat | null = null
  #phase: 'new' | 'opening' | 'open' | 'finished' = 'new'
  #whenReady = (): void => undefined
  #cursor: number
  /** The newest position known to be written. */
  #heard = 0
  /** Everything that was in the log at some time has been read; from there on there is a reason for every read. */
  #hasReachedTail = false
  #saidCaughtUp = false
  #hasRead = false
  #isCutOff = false

  constructor(home: FollowerHome, { sessionId, after, follow, filter, signal }: FollowerOptions) {
    this.sessionId = sessionId
    this.follow = follow
    this.#home = home
    this.#filter = filter
    this.#signal = signal
    this.#cursor = after
    this.#buffer = new LiveBuffer(home.maxBufferedEvents)
    this.#reader = new PageReader(home, sessionId, this.#ring)
  }

  whenReady(callback: () => void): void {
    this.#whenReady = callback
  }

  take(): Taken {
    if (this.#phase === 'new') this.#start()
    if (this.#isCutOff) throw new PerdureError('SHUTTING_DOWN', 'the feed was closed before the end of the log was reached')
    if (this.#isFinished()) return 'end'
    const batch = this.#nextBatch()
    if (batch === null) return this.#isFinished() ? 'end' : 'later'
    this.#saidCaughtUp = batch.caughtUp
    this.#heartbeat?.sent()
    return batch
  }

  /** Nothing follows any more. Repeating it does nothing. */
  readonly finish = (): void => {
    const before = this.#phase
    if (before === 'finished') return
    this.#phase = 'finished'
    this.#reader.stop()
    this.#buffer.clear()
    this.#heartbeat?.stop()
    this.#signal.removeEventListener('abort', this.finish)
    if (before !== 'new') this.#home.onFinish(this)
    this.#ring()
  }

  /** Nothing follows here, though more may be in the log (F5). Does nothing once it has finished. */
  cutOff(): void {
    if (this.#phase === 'finished') return
    this.#isCutOff = true
    this.finish()
  }

  /** Live events, from the feed. */
  hear(publication: Publication): void {
    this.#heard = Math.max(this.#heard, publication.last)
    this.#buffer.add(publication)
    this.#ring()
  }

  /** What the database says of the log; undefined: there is no such log. */
  hearTail(tail: LogTail | undefined): void {
    if (tail === undefined || (tail.ended && this.#hasReachedTail && this.#cursor >= tail.position)) this.finish()
    else if (tail.position > this.#heard) {
      this.#heard = tail.position
      this.#ring()
    }
  }

  readonly #ring = (): void => {
    this.#whenReady()
  }

  #start(): void {
    const { clock, heartbeatMs, onStart } = this.#home
    this.#phase = 'opening'
    if (this.#signal.aborted) {
      this.finish()
      return
    }
    const acknowledged = onStart(this)
    if (acknowledged === null) {
      this.cutOff()
      return
    }
    this.#signal.addEventListener('abort', this.finish, { once: true })
    if (this.follow) this.#heartbeat = new Heartbeat(clock, heartbeatMs, this.#ring)
    void acknowledged.then(() => {
      if (this.#phase === 'opening') this.#phase = 'open'
      this.#ring()
    })
  }

  #isFinished(): boolean {
    return this.#phase === 'finished'
  }

  /** What can be sent now; otherwise sees to it that a ring follows. */
  #nextBatch(): EventBatch | null {
    for (;;) {
      const next = this.#reader.takePage() ?? this.#buffer.takeNext(this.#cursor)
      if (next === null) break
      const batch = next instanceof Publication ? this.#usePublication(next) : this.#usePage(next)
      if (batch !== null || this.#isFinished()) return batch
    }
    const mustRead = !this.#hasReachedTail || this.#heard > this.#cursor
    if (this.#phase === 'open' && mustRead) this.#reader.read(this.#readFrom(), this.#heard)
    return this.#heartbeat?.isDue === true ? { events: [], cursor: this.#cursor, caughtUp: this.#saidCaughtUp } : null
  }

  /** The first time from one before the cursor: when that was the end of the session there is nothing to follow. */
  #readFrom(): number {
    return this.#hasRead ? this.#cursor : Math.max(0, this.#cursor - 1)
  }

  #usePage({ events, reachesTail, known }: KnownPage): EventBatch | null {
    const fresh = this.#fresh(events)
    const last = events.at(-1)
    this.#hasRead = true
    const isEnd = endsLog(last)
    this.#hasReachedTail ||= reachesTail
    // Positions up to `known` that the log does not have were removed after their turn's end.
    this.#cursor = Math.max(this.#cursor, last?.position ?? 0, reachesTail ? known : 0)
    if (isEnd || (reachesTail && !this.follow)) this.finish()
    else if (!reachesTail) this.#reader.read(this.#cursor, this.#heard)
    return this.#worthSending({ events: this.#filter.select(fresh), cursor: this.#cursor, caughtUp: reachesTail || isEnd })
  }

  #usePublication(publication: Publication): EventBatch | null {
    const isWhole = publication.first > this.#cursor
    const batch = isWhole
      ? publication.batchFor(this.#filter)
      : { events: this.#filter.select(this.#fresh(publication.events)), cursor: publication.last, caughtUp: true }
    this.#cursor = publication.last
    if (endsLog(publication.events.at(-1))) this.finish()
    return this.#worthSending(batch)
  }

  #fresh(events: readonly RecordedEvent[]): readonly RecordedEvent[] {
    const cursor = this.#cursor
    return (events[0]?.position ?? 0) > cursor ? events : events.filter((event) => event.position > cursor)
  }

  #worthSending(batch: EventBatch): EventBatch | null {
    return batch.events.length === 0 && batch.caughtUp === this.#saidCaughtUp ? null : batch
  }
}
