/** What operators watch, told by whoever sees it happen. observability/metrics.ts makes figures of it; nothing depends on them. */

export interface Meter {
  /** A session was asked for: it is driven now, there was nothing to do, or the database did not answer. */
  claimed(outcome: 'driven' | 'not-due' | 'failed'): void
  /** A lease that this process held is gone. */
  leaseLost(): void
  /** A write was refused because another worker has a newer lease (R2). */
  fenced(): void
  /** A look for due sessions succeeded: how many there were, and for how long the first had been due. */
  polled(due: number, oldestMs: number): void
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
