/**
 * The figures of one process, as Prometheus reads them. A Meter counts what is told to it; the rest is looked up when somebody scrapes.
 * docs/operations.md has the table of them all.
 *
 * Labels are closed sets (outcomes, statuses, the agents of this process), so the number of series is known at the start. What is of the
 * whole deployment rather than of this process says so in its text.
 */
import { Registry } from 'prom-client'
import type { Clock } from '../clock.js'
import type { Meter, QueueState, SessionCounts } from '../session/meter.js'
import type { Log } from '../session/ports.js'
import { createReading } from './background-reading.js'
import { addCounters } from './counters.js'
import { addGauges, type OwnFigures } from './gauges.js'
import { addProcessFigures } from './process-figures.js'

export interface MetricsOptions extends OwnFigures {
  /** Names of the agents that this process serves. */
  readonly agents: readonly string[]
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  /** Both may fail, and are asked while somebody scrapes only: the sessions every 30 s at most, the queue once a second. */
  readonly countSessions: () => Promise<SessionCounts>
  readonly readQueue: () => Promise<QueueState>
}
export interface Metrics {
  readonly meter: Meter
  /** Milliseconds since a look for due sessions was answered; before the first, since the start. */
  pollAgeMs(): number
  readonly contentType: string
  /** All figures, in Prometheus' text format. Half a second at most, whatever the database does. */
  render(): Promise<string>
  /** Stops what watches the process. */
  stop(): void
}

/** A count of sessions takes a hundredth of the time of one connection at most, a look at the queue a twentieth. */
const PAUSES = { sessions: { shortestMs: 30_000, times: 100 }, queue: { shortestMs: 1000, times: 20 } } as const

export function createMetrics(options: MetricsOptions): Metrics {
  const { clock, log, agents } = options
  const registry = new Registry()
  let polledAt = clock.monotonic()
  const counters = addCounters(registry, agents)
  const pollAgeMs = (): number => clock.monotonic() - polledAt
  addGauges(registry, {
    ...options,
    pollAgeMs,
    sessions: createReading({ fault: 'sessions could not be counted', read: options.countSessions, pause: PAUSES.sessions, clock, log }),
    queue: createReading({ fault: 'the queue could not be read', read: options.readQueue, pause: PAUSES.queue, clock, log }),
  })
  return {
    meter: {
      ...counters,
      polled: () => {
        polledAt = clock.monotonic()
      },
    },
    pollAgeMs,
    contentType: registry.contentType,
    render: () => registry.metrics(),
    stop: addProcessFigures(registry),
  }
}
