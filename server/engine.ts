/**
 * Everything between the storage and the port: who wakes and who drives, who writes events and who follows them. compose.ts hands it the
 * storage, and what answers requests is handed this.
 */
import { hostname } from 'node:os'
import type { AgentRegistry } from './agents/registry.js'
import type { Clock } from './clock.js'
import type { Config } from './config.js'
import { createLocalCoordinator } from './coordination/local.js'
import { createRedisCoordinator } from './coordination/redis.js'
import { createFeed, type Feed } from './events/feed.js'
import { createEventWriter, type EventWriter } from './events/writer.js'
import { createIdSource, type IdSource } from './ids.js'
import { meterStore } from './observability/metered-store.js'
import { createIntake, type Intake, type Lifetime } from './session/intake.js'
import type { Meter } from './session/meter.js'
import { createRecentHistories } from './session/perform/recent-histories.js'
import type { AgentPort } from './session/agent-port.js'
import type { Coordinator, Log, ProcessPresence, SessionStore } from './session/ports.js'
import type { OpenStore } from './store/open.js'
import { startWorkerPool, type AskedPeople, type EndedTurn, type WorkerPool } from './worker/pool.js'

export interface Engine {
  readonly self: ProcessPresence
  readonly ids: IdSource
  readonly coordinator: Coordinator
  readonly feed: Feed
  readonly intake: Intake
  /** Null: this process drives no sessions. */
  readonly pool: WorkerPool | null
  /** Stops following and driving; what runs has `deadlineMs` to reach a commit. From then on nothing asks the storage of its own accord. */
  stop(deadlineMs: number): Promise<void>
}
export interface EngineOptions {
  readonly config: Config
  readonly log: Log
  readonly meter: Meter
  readonly agents: AgentRegistry
  readonly opened: OpenStore
  readonly onTurnEnded: (turn: EndedTurn) => void
  readonly onAsked: (asked: AskedPeople) => void
}

/** The process is the lease when it alone can open the data folder: its leases never run out while it lives. */
const EMBEDDED_LEASE_MS = 10 * 365 * 24 * 3600_000
/** A session whose worker was lost is found this long after its lease has run out, at most. */
export const SWEEP_INTERVAL_MS = 500

export async function startEngine(options: EngineOptions): Promise<Engine> {
  const { config, opened } = options
  const { clock } = opened
  const ids = createIdSource(() => clock.now())
  const store = meterStore(opened.store, options.meter)
  const self = describeProcess(config, ids, clock)
  const log = options.log.with({ worker: self.id })
  const leaseTtlMs = opened.database.kind === 'embedded' ? EMBEDDED_LEASE_MS : config.leaseTtlMs
  const coordinator = await openCoordinator({ ...options, log }, self)
  const writer = createEventWriter({ store, coordinator, clock, ttlMs: leaseTtlMs, log })
  const feed = createFeed({ store, coordinator, clock, log })
  const lifetimeOf = (agent: string): Lifetime => toLifetime(options.agents.get(agent))
  const intake = createIntake({ store, coordinator, clock, ids, deployment: config.deployment, lifetimeOf })
  const pool = self.slots === 0 ? null : startPool({ ...options, log }, { self, store, coordinator, writer, ids, leaseTtlMs })
  return {
    ...{ self, ids, coordinator, feed, intake, pool },
    async stop(deadlineMs) {
      feed.close()
      await pool?.stop(deadlineMs)
      await writer.drain()
    },
  }
}

/** With the embedded database there is nobody to share with. */
function openCoordinator({ config, log, meter, opened }: EngineOptions, self: ProcessPresence): Promise<Coordinator> {
  const { redisUrl: url, redisPrefix: prefix, leaseTtlMs } = config
  const { clock } = opened
  if (url === null || opened.database.kind === 'embedded') return Promise.resolve(createLocalCoordinator({ clock, self, log }))
  return createRedisCoordinator({ url, prefix, self, clock, log, meter, leaseTtlMs })
}

interface PoolParts {
  readonly self: ProcessPresence
  readonly store: SessionStore
  readonly coordinator: Coordinator
  readonly writer: EventWriter
  readonly ids: IdSource
  readonly leaseTtlMs: number
}

function startPool({ log, meter, agents, opened, onTurnEnded, onAsked }: EngineOptions, parts: PoolParts): WorkerPool {
  const { self, ...rest } = parts
  return startWorkerPool({
    ...rest,
    ...{ log, meter, agents, onTurnEnded, onAsked },
    clock: opened.clock,
    random: Math.random,
    histories: createRecentHistories({ clock: opened.clock }),
    owner: self.id,
    slots: self.slots,
    renewsLeases: opened.database.kind !== 'embedded',
    sweepIntervalMs: SWEEP_INTERVAL_MS,
  })
}

/** An agent that this process does not serve: its sessions last. */
function toLifetime(agent: AgentPort | undefined): Lifetime {
  return { mode: agent?.mode ?? 'CONVERSATION', idleTimeoutMs: agent?.limits.sessionTimeoutMs ?? null }
}

function describeProcess({ role, deployment, slots }: Config, ids: IdSource, clock: Clock): ProcessPresence {
  return {
    id: ids.next('wrk'),
    role,
    deployment,
    host: hostname(),
    pid: process.pid,
    startedAt: clock.now(),
    slots: role === 'api' ? 0 : slots,
  }
}
