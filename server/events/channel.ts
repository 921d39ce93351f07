/** The followers of one session's log in this process, and the one subscription that feeds them all. */
import type { Clock } from '../clock.js'
import type { SessionId } from '../ids.js'
import type { RecordedEvent } from '../session/events.js'
import type { Coordinator, Log, LogTail } from '../session/ports.js'
import { Publication } from './event-batch.js'
import type { Follower } from './follower.js'

export interface ChannelOptions {
  readonly sessionId: SessionId
  readonly coordinator: Pick<Coordinator, 'subscribe'>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  /** How long replay waits for the acknowledgement at most; what is missed until then is healed like any lost publish (R5). */
  readonly patienceMs: number
}

export class Channel {
  /** Resolves once no later publish can be missed, or once that is not waited for any more. */
  readonly opened: Promise<void>
  readonly #options: ChannelOptions
  readonly #followers = new Set<Follower>()
  #unsubscribe: (() => void) | null = null
  #isSubscribing = false
  #isClosed = false
  #cancelPatience = (): void => undefined

  constructor(options: ChannelOptions) {
    this.#options = options
    this.opened = new Promise((resolve) => {
      this.#cancelPatience = options.clock.after(options.patienceMs, resolve)
      void this.#subscribe().then(() => {
        this.#cancelPatience()
        resolve()
      })
    })
  }

  get isEmpty(): boolean {
    return this.#followers.size === 0
  }

  add(follower: Follower): void {
    this.#followers.add(follower)
  }

  remove(follower: Follower): void {
    this.#followers.delete(follower)
  }

  hearTail(tail: LogTail | undefined): void {
    for (const follower of this.#followers) follower.hearTail(tail)
  }

  /** Subscribes again when it failed before. */
  async retry(): Promise<void> {
    if (this.#unsubscribe === null && !this.#isClosed) await this.#subscribe()
  }

  close(): void {
    this.#isClosed = true
    this.#cancelPatience()
    this.#unsubscribe?.()
    this.#unsubscribe = null
  }

  async #subscribe(): Promise<void> {
    if (this.#isSubscribing) return
    this.#isSubscribing = true
    const { coordinator, log, sessionId } = this.#options
    try {
      const unsubscribe = await coordinator.subscribe(sessionId, (events) => {
        this.#publish(events)
      })
      if (this.#isClosed) unsubscribe()
      else this.#unsubscribe = unsubscribe
    } catch (err) {
      log.warn('live events of a session could not be subscribed to; they are read from the log', { err, session: sessionId })
    } finally {
      this.#isSubscribing = false
    }
  }

  /** One that does not end a write is only news: readers get whole writes. */
  #publish(events: readonly RecordedEvent[]): void {
    const last = events.at(-1)
    if (this.#isClosed || last === undefined) return
    if (!last.endsWrite) {
      this.hearTail({ position: last.position, ended: false })
      return
    }
    const publication = new Publication(events)
    for (const follower of this.#followers) follower.hear(publication)
  }
}
