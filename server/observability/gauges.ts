/** What goes up and down: looked up when somebody scrapes. A figure that is not known at that moment has no value: 0 would be a lie. */
import { Gauge, type Registry } from 'prom-client'
import type { QueueState, SessionCounts } from '../session/meter.js'
import type { CoordinatorHealth } from '../session/ports.js'
import { SESSION_STATUSES, isEnded } from '../session/status.js'
import type { Reading } from './background-reading.js'
import { setOrHide } from './set-or-hide.js'

const MS_PER_SECOND = 1000
/** How long a scrape waits for the queue. A count of sessions is not waited for. */
const QUEUE_WAIT_MS = 500

/** What a process knows of itself. */
export interface OwnFigures {
  readonly process: { readonly version: string; readonly role: string; readonly deployment: string }
  /** Sessions that it can drive at the same time; 0: it drives none. */
  readonly slots: number
  /** Leases that it holds now. */
  readonly activeSessions: () => number
  /** Subscriptions to events that are open in it. */
  readonly subscribers: () => number
  readonly coordination: () => CoordinatorHealth
}

export interface GaugeSources extends OwnFigures {
  readonly pollAgeMs: () => number
  readonly sessions: Reading<SessionCounts>
  readonly queue: Reading<QueueState>
}

export function addGauges(registry: Registry, sources: GaugeSources): void {
  addProcessInfo(registry, sources)
  addWorkGauges(registry, sources)
  addQueueGauges(registry, sources.queue)
  addSessionGauges(registry, sources.sessions)
}

function addProcessInfo(registry: Registry, { process, coordination }: GaugeSources): void {
  const registers = [registry]
  new Gauge({
    name: 'perdure_process_info',
    help: 'Always 1; its labels say what this process is.',
    labelNames: ['version', 'role', 'deployment'],
    registers,
  }).set({ ...process }, 1)
  const redis: Gauge = new Gauge({
    name: 'perdure_redis_up',
    help: '1 while Redis is of use to this process, 0 while it is not; no value without REDIS_URL.',
    registers,
    collect: () => {
      const { kind, fault } = coordination()
      setOrHide(redis, kind === 'local' ? null : Number(fault === null))
    },
  })
}

function addWorkGauges(registry: Registry, { slots, activeSessions, subscribers, pollAgeMs }: GaugeSources): void {
  const registers = [registry]
  const active: Gauge = new Gauge({
    name: 'perdure_active_sessions',
    help: 'Sessions that this process drives: the leases that it holds.',
    registers,
    collect: () => {
      active.set(activeSessions())
    },
  })
  new Gauge({ name: 'perdure_slots', help: 'Sessions that this process can drive at the same time.', registers }).set(slots)
  const followed: Gauge = new Gauge({
    name: 'perdure_subscribers',
    help: 'Subscriptions to the events of sessions that are open in this process.',
    registers,
    collect: () => {
      followed.set(subscribers())
    },
  })
  const age: Gauge = new Gauge({
    name: 'perdure_poll_age_seconds',
    help: 'Time since this process last looked for due sessions and was answered; no value where it drives none.',
    registers,
    collect: () => {
      setOrHide(age, slots > 0 ? pollAgeMs() / MS_PER_SECOND : null)
    },
  })
}

function addQueueGauges(registry: Registry, queue: Reading<QueueState>): void {
  const registers = [registry]
  const due: Gauge = new Gauge({
    name: 'perdure_due_sessions',
    help: 'Sessions of the agents of this process that are due and driven by nobody, up to 10,000. Of the whole deployment.',
    registers,
    collect: async () => {
      const state = await queue.get(QUEUE_WAIT_MS)
      setOrHide(due, state?.due ?? null)
    },
  })
  const oldest: Gauge = new Gauge({
    name: 'perdure_queue_age_seconds',
    help: 'For how long the first of them has been due; 0 when there is none. Of the whole deployment.',
    registers,
    collect: async () => {
      const state = await queue.get(QUEUE_WAIT_MS)
      setOrHide(oldest, state === null ? null : state.oldestMs / MS_PER_SECOND)
    },
  })
}

function addSessionGauges(registry: Registry, counts: Reading<SessionCounts>): void {
  const registers = [registry]
  const sessions: Gauge<'status'> = new Gauge({
    name: 'perdure_sessions',
    help: 'Sessions in the database, by status. Of the whole deployment.',
    labelNames: ['status'],
    registers,
    collect: async () => {
      const counted = await counts.get(0)
      for (const status of SESSION_STATUSES) {
        if (counted === null) sessions.remove({ status })
        else sessions.set({ status }, counted.statuses[status])
      }
    },
  })
  const parked: Gauge = new Gauge({
    name: 'perdure_parked_sessions',
    help: 'Open sessions that no process drives: they cost rows and nothing else. Of the whole deployment.',
    registers,
    collect: async () => {
      const counted = await counts.get(0)
      setOrHide(parked, counted === null ? null : countParked(counted))
    },
  })
}

function countParked({ statuses, driven }: SessionCounts): number {
  const open = SESSION_STATUSES.filter((status) => !isEnded(status)).reduce((sum, status) => sum + statuses[status], 0)
  // The two are not counted at the same moment.
  return Math.max(open - driven, 0)
}
