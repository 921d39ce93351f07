/** What operators ask of a process: its figures, whether it is alive, whether it wants work. Part of the composition root. */
import { readFileSync } from 'node:fs'
import type { AgentRegistry } from './agents/registry.js'
import type { Config } from './config.js'
import { SWEEP_INTERVAL_MS, type Engine } from './engine.js'
import { createMetrics } from './observability/metrics.js'
import { createOperationsHandler, type OperationsHandler } from './observability/operations.js'
import type { Meter } from './session/meter.js'
import type { CoordinatorHealth, Log } from './session/ports.js'
import type { OpenStore } from './store/open.js'
import { countSessions } from './store/statements/count-sessions.js'
import { ping } from './store/statements/ping.js'
import { readQueue } from './store/statements/read-queue.js'

export interface Operations {
  readonly meter: Meter
  readonly handler: OperationsHandler
  /** From now on the process says that it stops. */
  announceStop(): void
  close(): void
}
export interface OperationsOptions {
  readonly config: Config
  readonly log: Log
  readonly agents: Pick<AgentRegistry, 'names'>
  readonly opened: OpenStore
  /** Null until it has started, which needs the meter. */
  readonly engine: () => Engine | null
}

const STARTING: CoordinatorHealth = { kind: 'local', fault: null }

export function createOperations({ config, log, agents, opened, engine }: OperationsOptions): Operations {
  const { role, deployment } = config
  const { clock, database, prisma } = opened
  const slots = role === 'api' ? 0 : config.slots
  let isStopping = false
  const coordination = (): CoordinatorHealth => engine()?.coordinator.health() ?? STARTING
  const metrics = createMetrics({
    process: { version: readVersion(), role, deployment },
    ...{ agents: agents.names, clock, log, slots, coordination },
    activeSessions: () => engine()?.pool?.driving ?? 0,
    subscribers: () => engine()?.feed.subscribers ?? 0,
    countSessions: () => countSessions(prisma),
    readQueue: () => readQueue(database, agents.names),
  })
  return {
    meter: metrics.meter,
    handler: createOperationsHandler({
      ...{ role, metrics, log, clock, coordination },
      isStopping: () => isStopping,
      pingDatabase: () => ping(database),
      polls: slots === 0 ? null : { intervalMs: SWEEP_INTERVAL_MS, ageMs: () => metrics.pollAgeMs() },
    }),
    announceStop: () => {
      isStopping = true
    },
    close: () => metrics.stop(),
  }
}

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown'
}
