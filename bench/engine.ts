/** One process of Perdure over a database of the bench: what compose.ts puts together, with a recorder between store and database. */
import { createServer } from 'node:http'
import { hostname } from 'node:os'
import { DEFAULT_LIMITS } from '../server/agents/limits.js'
import { createRegistry } from '../server/agents/registry.js'
import { systemClock, type Clock } from '../server/clock.js'
import { createLocalCoordinator } from '../server/coordination/local.js'
import { createRedisCoordinator } from '../server/coordination/redis.js'
import { toMessage } from '../server/errors.js'
import { createFeed, type Feed } from '../server/events/feed.js'
import { createEventWriter } from '../server/events/writer.js'
import { createGraphqlHandler } from '../server/graphql/http.js'
import { createIdSource, type IdSource, type WorkerId } from '../server/ids.js'
import { createIntake, type Intake } from '../server/session/intake.js'
import { NO_METER } from '../server/session/meter.js'
import { createRecentHistories } from '../server/session/perform/recent-histories.js'
import type { Coordinator, Log, LogFields, SessionStore } from '../server/session/ports.js'
import type { Principal } from '../server/session/principal.js'
import type { Database } from '../server/store/database.js'
import { createSessionStore } from '../server/store/session-store.js'
import { startWorkerPool } from '../server/worker/pool.js'
import { createBenchAgent } from './agent.js'
import { countTimers } from './counted-clock.js'
import { closeServer, listen } from './listen.js'
import type { Place } from './place.js'
import { createRecorder, type Recorder } from './recorder.js'

/** Whom an open server on this machine takes its callers for. */
export const CALLER: Principal = { tenant: 'default', id: 'developer', kind: 'USER' }
export const DEPLOYMENT = 'bench'

/** As the server has them by default. */
const SLOTS = 16
const LEASE_TTL_MS = 10_000
const SWEEP_INTERVAL_MS = 1000
/** Embedded, the process is the lease. */
const EMBEDDED_LEASE_TTL_MS = 3_600_000
const STOP_MS = 1000

export interface Engine {
  readonly database: Database
  readonly store: SessionStore
  readonly intake: Intake
  readonly coordinator: Coordinator
  readonly feed: Feed
  readonly ids: IdSource
  readonly recorder: Recorder
  /** Timers of it that are pending now. Node's own list has none of them: they keep no process alive. */
  readonly timers: () => number
  /** Of the GraphQL endpoint. */
  readonly url: URL
  /** Monotonic times of the model calls since the last question. */
  takeModelCalls(): readonly number[]
  close(): Promise<void>
}

export interface EngineOptions {
  readonly place: Place
  readonly poolSize?: number
  /** Hears of what should not happen in a measurement. */
  readonly warn: (message: string) => void
}

export async function startEngine({ place, poolSize, warn }: EngineOptions): Promise<Engine> {
  const opened = await place.open(poolSize)
  const clock = countTimers(systemClock)
  const log = toLog(warn)
  const ids = createIdSource()
  const modelCalls: number[] = []
  const agents = createRegistry([createBenchAgent((at) => modelCalls.push(at))], (spec) => {
    if (typeof spec === 'string') throw new Error(`the bench has no model ${spec}`)
    return spec
  })
  const recorder = createRecorder(opened.database)
  const store = createSessionStore(recorder.database, clock)
  const isEmbedded = place.kind === 'embedded'
  const leaseTtlMs = isEmbedded ? EMBEDDED_LEASE_TTL_MS : LEASE_TTL_MS
  const owner = ids.next('wrk')
  const coordinator = await openCoordinator(place, owner, clock, log)
  const writer = createEventWriter({ store, coordinator, clock, ttlMs: leaseTtlMs, log })
  const feed = createFeed({ store, coordinator, clock, log })
  const intake = createIntake({
    store,
    coordinator,
    clock,
    ids,
    deployment: DEPLOYMENT,
    lifetimeOf: () => ({ mode: 'CONVERSATION', idleTimeoutMs: DEFAULT_LIMITS.sessionTimeoutMs }),
  })
  const pool = startWorkerPool({
    ...{ store, coordinator, writer, agents, clock, ids, log, owner, slots: SLOTS, leaseTtlMs, meter: NO_METER },
    random: Math.random,
    histories: createRecentHistories({ clock }),
    renewsLeases: !isEmbedded,
    sweepIntervalMs: SWEEP_INTERVAL_MS,
    onTurnEnded: () => undefined,
  })
  const services = { prisma: opened.prisma, store, intake, feed, coordinator, agents, clock, ids, log, development: true }
  const server = createServer(createGraphqlHandler(services, { authenticate: null }))
  // A connection that idles while others are measured is not closed under its client.
  server.keepAliveTimeout = 0
  const url = new URL('/graphql', await listen(server))
  return {
    ...{ database: opened.database, store, intake, coordinator, feed, ids, recorder, url },
    timers: () => clock.pending,
    takeModelCalls: () => modelCalls.splice(0),
    async close() {
      feed.close()
      await pool.stop(STOP_MS)
      await writer.drain()
      await closeServer(server)
      await coordinator.close()
      await opened.close()
    },
  }
}

function openCoordinator({ redis }: Place, id: WorkerId, clock: Clock, log: Log): Promise<Coordinator> {
  const self = {
    id,
    role: 'all',
    deployment: DEPLOYMENT,
    host: hostname(),
    pid: process.pid,
    startedAt: clock.now(),
    slots: SLOTS,
  } as const
  if (redis === null) return Promise.resolve(createLocalCoordinator({ clock, log, self }))
  return createRedisCoordinator({ ...redis, self, clock, log, meter: NO_METER, leaseTtlMs: LEASE_TTL_MS })
}

function toLog(warn: (message: string) => void): Log {
  const tell = (message: string, { err, ...fields }: LogFields = {}): void => {
    warn([message, ...(err === undefined ? [] : [toMessage(err)]), JSON.stringify(fields)].join(' '))
  }
  const log: Log = { debug: () => undefined, info: () => undefined, warn: tell, error: tell, with: () => log }
  return log
}
