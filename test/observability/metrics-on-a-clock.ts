/** The figures of a process that a test tells what happens, on a clock that it moves. */
import { createMetrics, type Metrics, type MetricsOptions } from '../../server/observability/metrics.js'
import { SESSION_STATUSES, type SessionStatus } from '../../server/session/status.js'
import type { SessionCounts } from '../../server/session/meter.js'
import { createFakeClock, type FakeClock } from '../support/fake-clock.js'
import { silentLog } from '../support/silent-log.js'

export interface Figures extends Metrics {
  readonly clock: FakeClock
  /** The value of a sample, by its name and labels as they are printed; undefined when it is not there. */
  value(sample: string): Promise<number | undefined>
}

export function createFigures(more: Partial<Omit<MetricsOptions, 'clock'>> = {}): Figures {
  const clock = createFakeClock()
  const metrics = createMetrics({
    process: { version: '1.2.3', role: 'all', deployment: 'blue' },
    agents: ['clerk', 'hello'],
    clock,
    log: silentLog(),
    slots: 16,
    activeSessions: () => 0,
    subscribers: () => 0,
    coordination: () => ({ kind: 'local', fault: null }),
    countSessions: () => Promise.resolve(countsOf({})),
    readQueue: () => Promise.resolve({ due: 0, oldestMs: 0 }),
    ...more,
  })
  return { ...metrics, clock, value: async (sample) => samplesOf(await metrics.render()).get(sample) }
}

export function countsOf(statuses: Partial<Record<SessionStatus, number>>, driven = 0): SessionCounts {
  const none = Object.fromEntries(SESSION_STATUSES.map((status) => [status, 0])) as Record<SessionStatus, number>
  return { statuses: { ...none, ...statuses }, driven }
}

/** `name{label="value"}` → value. */
export function samplesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]))
}

export interface Described {
  readonly name: string
  readonly kind: string
  readonly help: string
  /** Sorted. */
  readonly labels: readonly string[]
}

/** Every figure as it describes itself, with the labels of its samples. */
export function describedIn(text: string): readonly Described[] {
  const kinds = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', kind = '']) => [name, kind]))
  return [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name = '', help = '']) => {
    const samples = [...text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?(?:\\{(.*)\\})? `, 'gm'))]
    const labels = samples.flatMap(([, inside = '']) => [...inside.matchAll(/(\w+)="/g)].map(([, label = '']) => label))
    return { name, kind: kinds.get(name) ?? '', help, labels: [...new Set(labels)].filter((label) => label !== 'le').sort() }
  })
}
