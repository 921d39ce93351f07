/** One process of Perdure over a database of the bench: what compose.ts puts together, with a recorder between store and database. */
import { createServer, type Server } from 'node:http'
import { createRegistry } from '../server/agents/registry.js'
import { systemClock as clock } from '../server/clock.js'
import { createLocalCoordinator } from '../server/coordination/local.js'
import { toMessage } from '../server/errors.js'
import { createFeed, type Feed } from '../server/events/feed.js'
import { createEventWriter } from '../server/events/writer.js'
import { createGraphqlHandler } from '../server/graphql/http.js'
import { createIdSource, type IdSource } from '../server/ids.js'
import { createIntake, type Intake } from '../server/session/intake.js'
import type { Coordinator, Log, LogFields, SessionStore } from '../server/session/ports.js'
import type { Principal } from '../server/session/principal.js'
import type { Database } from '../server/store/database.js'
import { createSessionStore } from '../server/store/session-store.js'
import { startWorkerPool } from '../server/worker/pool.js'
import { createBenchAgent } from './agent.js'
import type { Place } from './place.js'
import { createRecorder, type Recorder } from './recorder.js'

/** Whom an open server on this machine takes its callers for. */
export const CALLER: Principal = { tenant: 'default', id: 'developer', kind: 'USER' }
export const DEPLOYMENT = 'bench'

/** As many as the server has by default. */
const SLOTS = 16
const LEASE_TTL_MS = 600_000
/** A sweep finds what a crash left behind: nothing here. */
const SWEEP_INTERVAL_MS = 3_600_000
const STOP_MS = 1000

export interface Engine {
  readonly database: Database
  readonly store: SessionStore
  readonly intake: Intake
  readonly coordinator: Coordinator
  readonly feed: Feed
  readonly ids: IdSource
  readonly recorder: Recorder
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
  const log = toLog(warn)
  const ids = createIdSource()
  const modelCalls: number[] = []
  const agents = createRegistry([createBenchAgent((at) => modelCalls.push(at))], (spec) => {
    if (typeof spec === 'string') throw new Error(`the bench has no model ${spec}`)
    return spec
  })
  const recorder = createRecorder(opened.database)
  const store = createSessionStore(recorder.database, clock)
  const coordinator = createLocalCoordinator({ clock, log })
  const writer = createEventWriter({ store, coordinator, clock, ttlMs: LEASE_TTL_MS, log })
  const feed = createFeed({ store, coordinator, clock, log })
  const intake = createIntake({ store, coordinator, clock, ids, deployment: DEPLOYMENT })
  const pool = startWorkerPool({
    ...{ store, coordinator, writer, agents, clock, ids, log, slots: SLOTS, leaseTtlMs: LEASE_TTL_MS },
    random: Math.random,
    renewsLeases: false,
    sweepIntervalMs: SWEEP_INTERVAL_MS,
    onTurnEnded: () => undefined,
  })
  const services = { prisma: opened.prisma, store, intake, feed, coordinator, agents, clock, ids, log, development: true }
  const server = createServer(createGraphqlHandler(services, { authenticate: null }))
  // A connection that idles while others are measured is not closed under its client.
  server.keepAliveTimeout = 0
  const url = await listen(server)
  return {
    ...{ database: opened.database, store, intake, coordinator, feed, ids, recorder, url },
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

function listen(server: Server): Promise<URL> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(new URL(`http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/graphql`))
    })
  })
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

function toLog(warn: (message: string) => void): Log {
  const tell = (message: string, { err, ...fields }: LogFields = {}): void => {
    warn([message, ...(err === undefined ? [] : [toMessage(err)]), JSON.stringify(fields)].join(' '))
  }
  const log: Log = { debug: () => undefined, info: () => undefined, warn: tell, error: tell, with: () => log }
  return log
}
