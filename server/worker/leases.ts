/**
 * The leases that this process holds: renews them together, a third of their life before they end, and says to each driver when its own
 * is gone. A renewal also brings news of the inbox, so that a lost nudge costs a renewal's time at most.
 *
 * A lease is gone when the database says so, or when this process cannot know any more: its own deadline counts from before the
 * renewal was sent and has passed when either its monotonic or its wall clock says so (a suspended machine stops the first).
 */
import type { Clock } from '../clock.js'
import { PerdureError, toMessage } from '../errors.js'
import type { SessionId } from '../ids.js'
import type { Meter } from '../session/meter.js'
import type { Log, SessionStore } from '../session/ports.js'
import type { Lease, Session } from '../session/session.js'

export interface LeasesOptions {
  readonly store: Pick<SessionStore, 'renew' | 'release'>
  readonly clock: Clock
  readonly log: Log
  readonly meter: Pick<Meter, 'leaseLost'>
  /** Infinity: the process itself is the lease, nothing is renewed. */
  readonly ttlMs: number
  /** Called when a renewal shows deliveries that the driver has not been told of. */
  readonly onNews: (sessionId: SessionId) => void
}
export interface HeldLease {
  readonly lost: AbortSignal
  /** The lease is gone: whatever runs under it stops. */
  lose(reason: string): void
  /** A commit is under way that gives the lease back: a renewal that does not find it then is no loss. */
  leaving(isLeaving: boolean): void
  /** Not held any more; nothing is renewed. */
  drop(): void
}
export interface Leases {
  /** `sentAt`: monotonic time before the claim was sent. */
  hold(session: Session, sentAt: number): HeldLease
  /** True after `releaseAll`: a claim that is answered only now has to be given back, not driven. */
  readonly isClosed: boolean
  /** How many are held. */
  readonly count: number
  /** Gives back all that are held, for a process that leaves. */
  releaseAll(): Promise<void>
  stop(): void
}

interface Held {
  readonly lease: Lease
  readonly controller: AbortController
  inbox: number
  isLeaving: boolean
  /** When the newest renewal that was answered had been sent, on the monotonic clock. */
  renewedAt: number
  deadline: Deadline
}
interface Deadline {
  readonly monotonic: number
  readonly wall: number
}

export function createLeases(options: LeasesOptions): Leases {
  return new LeaseBook(options)
}

class LeaseBook implements Leases {
  readonly #options: LeasesOptions
  readonly #held = new Map<SessionId, Held>()
  #ticks = 0
  /** The newest renewal was not answered: the next one does not wait for its turn. */
  #hasFailed = false
  #isClosed = false
  #cancelTimer = (): void => undefined

  constructor(options: LeasesOptions) {
    this.#options = options
    if (Number.isFinite(options.ttlMs)) this.#schedule()
  }

  hold(session: Session, sentAt: number): HeldLease {
    const { sessionId } = session.lease
    const controller = new AbortController()
    const entry: Held = {
      lease: session.lease,
      controller,
      inbox: session.inbox,
      isLeaving: false,
      renewedAt: sentAt,
      deadline: this.#deadlineFrom(sentAt),
    }
    this.#held.set(sessionId, entry)
    return {
      lost: controller.signal,
      lose: (reason) => {
        this.#lose(entry, reason)
      },
      leaving: (isLeaving) => {
        entry.isLeaving = isLeaving
      },
      drop: () => {
        if (this.#held.get(sessionId) === entry) this.#held.delete(sessionId)
      },
    }
  }

  get count(): number {
    return this.#held.size
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  async releaseAll(): Promise<void> {
    this.#isClosed = true
    const entries = [...this.#held.values()]
    for (const entry of entries) this.#lose(entry, 'the process stops')
    if (entries.length > 0)
      await this.#options.store.release(
        entries.map((entry) => entry.lease),
        'unused',
      )
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** Deadlines are looked at twice as often as leases are renewed, and also while a renewal is not answered. */
  #schedule(): void {
    const { clock, ttlMs } = this.#options
    this.#cancelTimer = clock.after(ttlMs / 6, () => {
      this.#schedule()
      this.#checkDeadlines()
      this.#ticks += 1
      if (this.#ticks % 2 === 0 || this.#hasFailed) void this.#renew()
    })
  }

  async #renew(): Promise<void> {
    const { store, clock, log, ttlMs } = this.#options
    const entries = [...this.#held.values()]
    if (entries.length === 0) return
    const sentAt = clock.monotonic()
    const leases = entries.map((entry) => entry.lease)
    try {
      const news = await store.renew(leases, ttlMs)
      this.#hasFailed = false
      for (const entry of entries) this.#takeNews(entry, news.get(entry.lease.sessionId)?.inbox, sentAt)
    } catch (thrown) {
      this.#hasFailed = true
      log.warn(`leases could not be renewed: ${toMessage(thrown)}`, { count: entries.length })
    }
  }

  #takeNews(entry: Held, inbox: number | undefined, sentAt: number): void {
    // One that was given back while the renewal was under way is no loss.
    if (this.#held.get(entry.lease.sessionId) !== entry) return
    if (inbox === undefined) {
      if (entry.isLeaving) return
      this.#lose(entry, 'another worker took the session')
      return
    }
    // A renewal that hung may be answered after the next one.
    if (sentAt > entry.renewedAt) {
      entry.renewedAt = sentAt
      entry.deadline = this.#deadlineFrom(sentAt)
    }
    if (inbox > entry.inbox) this.#options.onNews(entry.lease.sessionId)
    entry.inbox = Math.max(inbox, entry.inbox)
  }

  #deadlineFrom(sentAt: number): Deadline {
    const { clock, ttlMs } = this.#options
    return { monotonic: sentAt + ttlMs, wall: clock.now() - (clock.monotonic() - sentAt) + ttlMs }
  }

  #checkDeadlines(): void {
    const { clock } = this.#options
    for (const entry of this.#held.values()) {
      const { monotonic, wall } = entry.deadline
      if (clock.monotonic() >= monotonic || clock.now() >= wall) this.#lose(entry, 'it could not be renewed in time')
    }
  }

  #lose(entry: Held, reason: string): void {
    if (entry.controller.signal.aborted) return
    if (!this.#isClosed) this.#options.meter.leaseLost()
    this.#options.log.warn(`lease lost: ${reason}`, { session: entry.lease.sessionId, epoch: entry.lease.epoch })
    entry.controller.abort(new PerdureError('LEASE_LOST', `the lease of ${entry.lease.sessionId} is gone: ${reason}`))
  }
}
