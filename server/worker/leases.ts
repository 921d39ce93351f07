/**
 * The leases that this process holds: renews them together, a third of their life before they end, and says to each driver when its own
 * is gone. A renewal also brings news of the inbox, so that a lost nudge costs a renewal's time at most.
 *
 * A lease is gone when the database says so, or when this process cannot know any more: its own deadline counts from before the
 * renewal was sent and has passed when either its monotonic or its wall clock says so (a suspended machine stops the first).
 */
import type { Clock } from '../clock.js'
import { toMessage } from '../errors.js'
import type { SessionId } from '../ids.js'
import type { Log, SessionStore } from '../session/ports.js'
import type { Lease, Session } from '../session/session.js'

export interface LeasesOptions {
  readonly store: Pick<SessionStore, 'renew' | 'release'>
  readonly clock: Clock
  readonly log: Log
  /** Infinity: the process itself is the lease, nothing is renewed. */
  readonly ttlMs: number
  /** Called when a renewal shows deliveries that the driver has not been told of. */
  readonly onNews: (sessionId: SessionId) => void
}
export interface HeldLease {
  readonly lost: AbortSignal
  /** The lease is gone: whatever runs under it stops. */
  lose(reason: string): void
  /** Not held any more; nothing is renewed. */
  drop(): void
}
export interface Leases {
  /** `sentAt`: monotonic time before the claim was sent. */
  hold(session: Session, sentAt: number): HeldLease
  /** Gives back all that are held, for a process that leaves. */
  releaseAll(): Promise<void>
  stop(): void
}

interface Held {
  readonly lease: Lease
  readonly controller: AbortController
  inbox: number
  deadline: Deadline
}
interface Deadline {
  readonly monotonic: number
  readonly wall: number
}

export function createLeases(options: LeasesOptions): Leases {
  const { store, clock, log, ttlMs } = options
  const held = new Map<SessionId, Held>()
  const renews = Number.isFinite(ttlMs)
  let cancelTimer = () => {}

  const deadlineFrom = (sentAt: number): Deadline => ({
    monotonic: sentAt + ttlMs,
    wall: clock.now() - (clock.monotonic() - sentAt) + ttlMs,
  })

  function lose(entry: Held, reason: string): void {
    if (entry.controller.signal.aborted) return
    log.warn(`lease lost: ${reason}`, { session: entry.lease.sessionId, epoch: entry.lease.epoch })
    entry.controller.abort(new Error(reason))
  }

  async function renew(): Promise<void> {
    if (held.size === 0) return
    const sentAt = clock.monotonic()
    const entries = [...held.values()]
    try {
      const news = await store.renew(
        entries.map((entry) => entry.lease),
        ttlMs,
      )
      for (const entry of entries) takeNews(entry, news.get(entry.lease.sessionId)?.inbox, sentAt)
    } catch (thrown) {
      log.warn(`leases could not be renewed: ${toMessage(thrown)}`, { count: entries.length })
    }
  }

  function takeNews(entry: Held, inbox: number | undefined, sentAt: number): void {
    if (inbox === undefined) return lose(entry, 'another worker took the session')
    entry.deadline = deadlineFrom(sentAt)
    if (inbox > entry.inbox) options.onNews(entry.lease.sessionId)
    entry.inbox = inbox
  }

  function checkDeadlines(): void {
    for (const entry of held.values()) {
      if (clock.monotonic() >= entry.deadline.monotonic || clock.now() >= entry.deadline.wall)
        lose(entry, 'it could not be renewed in time')
    }
  }

  function schedule(): void {
    cancelTimer = clock.after(ttlMs / 3, () => {
      checkDeadlines()
      void renew().finally(schedule)
    })
  }
  if (renews) schedule()

  return {
    hold(session, sentAt) {
      const entry: Held = { lease: session.lease, controller: new AbortController(), inbox: session.inbox, deadline: deadlineFrom(sentAt) }
      held.set(session.lease.sessionId, entry)
      return {
        lost: entry.controller.signal,
        lose: (reason) => lose(entry, reason),
        drop: () => {
          if (held.get(session.lease.sessionId) === entry) held.delete(session.lease.sessionId)
        },
      }
    },
    async releaseAll() {
      const entries = [...held.values()]
      for (const entry of entries) lose(entry, 'the process stops')
      if (entries.length > 0) await store.release(entries.map((entry) => entry.lease))
    },
    stop() {
      cancelTimer()
    },
  }
}
