/**
 * The way from a session's log to its subscribers: replay from a cursor, then live. It holds no truth: whatever is not published, or
 * published twice, or too late, is made good from the log (R5), at the price of one query per process and second over the sessions
 * that are followed, and none when there is no follower.
 */
import type { Clock } from '../clock.js'
import type { SessionId } from '../ids.js'
import type { EventType } from '../session/events.js'
import type { Coordinator, Log, SessionStore } from '../session/ports.js'
import { BatchIterator, type BatchReader } from './batch-reader.js'
import { Channel } from './channel.js'
import type { EventBatch } from './event-batch.js'
import { createEventFilter } from './event-filter.js'
import { Follower, type FollowerHome } from './follower.js'
import { createLane, type Lane } from './lane.js'

export interface FeedOptions {
  readonly store: Pick<SessionStore, 'readEvents' | 'readTails'>
  readonly coordinator: Pick<Coordinator, 'subscribe' | 'onGap'>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  /** Events read at once. Default: 100. */
  readonly pageSize?: number
  /** Live events kept for a subscriber that is not asking; with more it is sent back to the log. Default: 1000. */
  readonly maxBufferedEvents?: number
  /** Silence after which a live subscriber is sent an empty batch. Default: 15,000. */
  readonly heartbeatMs?: number
  /** Between two looks for lost publishes. Default: 1,000. */
  readonly healIntervalMs?: number
}

export interface FollowOptions {
  /** Position after which to begin; 0: with the first event. One beyond the log's end waits for what comes after it. */
  readonly after: number
  /** False: complete at the end of the log as it is now. */
  readonly follow: boolean
  /** Default: all. With a type that streams text come the types that retract it. */
  readonly types?: ReadonlySet<EventType> | undefined
  /** Completes the iteration at once. */
  readonly signal: AbortSignal
}

export interface Feed {
  /** How many follow now. */
  readonly subscribers: number
  /**
   * Follows the log of a session. Nothing happens until the first batch is asked for; every iteration is a subscription of its own.
   * Completes after the end of the session, also when that lies before `after`; and when there is no such session.
   * Reads that fail are repeated, never thrown. The one thing thrown is PerdureError `SHUTTING_DOWN`, when the feed closes before this
   * end: a subscriber must not take what it has for the whole. The log after its cursor can be read elsewhere.
   */
  follow(sessionId: SessionId, options: FollowOptions): AsyncIterable<EventBatch>
  /** The same, once, for whoever does not wait. Subscribers of one session with the same types take the very same live batches. */
  open(sessionId: SessionId, options: FollowOptions): BatchReader
  /** Ends every iteration that has not completed, also those that begin later, with `SHUTTING_DOWN`. */
  close(): void
}

export function createFeed(options: FeedOptions): Feed {
  return new LogFeed(options)
}

class LogFeed implements Feed {
  readonly #options: FeedOptions
  readonly #home: FollowerHome
  readonly #healIntervalMs: number
  readonly #followers = new Set<Follower>()
  readonly #channels = new Map<SessionId, Channel>()
  readonly #healing: Lane
  readonly #ignoreGaps: () => void
  #failures = 0
  #isClosed = false

  constructor(options: FeedOptions) {
    const { store, coordinator, clock, log, pageSize = 100, maxBufferedEvents = 1_000, heartbeatMs = 15_000 } = options
    const onStart = (follower: Follower): Promise<void> | null => this.#enter(follower)
    const onFinish = (follower: Follower): void => {
      this.#leave(follower)
    }
    this.#options = options
    this.#home = { store, clock, log, pageSize, maxBufferedEvents, heartbeatMs, onStart, onFinish }
    this.#healIntervalMs = options.healIntervalMs ?? 1_000
    this.#healing = createLane(clock, () => this.#heal())
    this.#ignoreGaps = coordinator.onGap(() => {
      this.#requestHeal(0)
    })
  }

  get subscribers(): number {
    return this.#followers.size
  }

  follow(sessionId: SessionId, options: FollowOptions): AsyncIterable<EventBatch> {
    return { [Symbol.asyncIterator]: () => new BatchIterator(this.open(sessionId, options)) }
  }

  open(sessionId: SessionId, { types, ...options }: FollowOptions): BatchReader {
    return new Follower(this.#home, { ...options, sessionId, filter: createEventFilter(types) })
  }

  close(): void {
    this.#isClosed = true
    this.#ignoreGaps()
    for (const follower of this.#followers) follower.cutOff()
  }

  #enter(follower: Follower): Promise<void> | null {
    if (this.#isClosed) return null
    this.#followers.add(follower)
    if (!follower.follow) return Promise.resolve()
    const channel = this.#channels.get(follower.sessionId) ?? this.#openChannel(follower.sessionId)
    channel.add(follower)
    return channel.opened
  }

  #openChannel(sessionId: SessionId): Channel {
    const { coordinator, clock, log } = this.#options
    const channel = new Channel({ sessionId, coordinator, clock, log, patienceMs: this.#healIntervalMs })
    this.#channels.set(sessionId, channel)
    this.#requestHeal(this.#healIntervalMs)
    return channel
  }

  #leave(follower: Follower): void {
    this.#followers.delete(follower)
    const channel = this.#channels.get(follower.sessionId)
    if (channel === undefined || !follower.follow) return
    channel.remove(follower)
    if (!channel.isEmpty) return
    this.#channels.delete(follower.sessionId)
    channel.close()
    if (this.#channels.size === 0) this.#healing.cancel()
  }

  #requestHeal(delayMs: number): void {
    if (this.#channels.size > 0) this.#healing.request(this.#options.clock.monotonic() + delayMs)
  }

  /** Tells every follower how far its log goes by now. */
  async #heal(): Promise<void> {
    const followed = [...this.#channels]
    if (followed.length === 0) return
    try {
      const tails = await this.#options.store.readTails(followed.map(([sessionId]) => sessionId))
      for (const [sessionId, channel] of followed) channel.hearTail(tails.get(sessionId))
      this.#failures = 0
    } catch (err) {
      this.#failures += 1
      if (this.#failures === 1) this.#options.log.warn('the ends of the followed logs could not be read; they are read again', { err })
    }
    for (const [, channel] of followed) void channel.retry()
    this.#requestHeal(this.#healIntervalMs)
  }
}
