/** What operators watch, told by whoever sees it happen. observability/metrics.ts makes figures of it; nothing depends on them. */
import type { SessionStatus } from './status.js'

export interface Meter {
  /** A session was asked for: it is driven now, there was nothing to do, or the database did not answer. */
  claimed(outcome: 'driven' | 'not-due' | 'failed'): void
  /** A lease that this process held is gone. */
  leaseLost(): void
  /** A write was refused because another worker has a newer lease (R2). */
  fenced(): void
  /** A look for due sessions was answered, with so many. How long the oldest has waited is read from the database at the scrape. */
  polled(due: number): void
  /** Events that were appended between commits, or by a commit. */
  eventsWritten(count: number): void
  turnEnded(turn: MeteredTurn): void
  /** Wakes, publishes or leases that the coordinator could not serve. */
  coordinationFailed(): void
}
export interface MeteredTurn {
  readonly agent: string
  readonly outcome: 'completed' | 'failed' | 'cancelled'
  readonly durationMs: number
  readonly promptTokens: number
  readonly completionTokens: number
}

/** All sessions of the database, whichever process has them. */
export interface SessionCounts {
  readonly statuses: Readonly<Record<SessionStatus, number>>
  /** Held by a process at this moment. */
  readonly driven: number
}

/** Sessions that are due and that nobody drives. */
export interface QueueState {
  readonly due: number
  /** For how long the first of them has been due; 0 when there is none. */
  readonly oldestMs: number
}

/** Counts nothing. */
export const NO_METER: Meter = {
  claimed: () => undefined,
  leaseLost: () => undefined,
  fenced: () => undefined,
  polled: () => undefined,
  eventsWritten: () => undefined,
  turnEnded: () => undefined,
  coordinationFailed: () => undefined,
}
