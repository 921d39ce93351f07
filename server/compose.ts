/**
 * The composition root: builds every adapter once and hands it over by argument. Nothing else constructs one.
 *
 * Order of life: storage, then what reads and writes it, then the slots, then the port. It stops in the opposite order, so that nothing
 * is asked of what is gone.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Agent } from './agents/define-agent.js'
import { createRegistry, type AgentRegistry } from './agents/registry.js'
import { systemClock } from './clock.js'
import { loadConfig, type Config } from './config.js'
import { createLocalCoordinator } from './coordination/local.js'
import { createFeed, type Feed } from './events/feed.js'
import { createEventWriter } from './events/writer.js'
import type { Authenticate } from './graphql/caller.js'
import { createGraphqlHandler } from './graphql/http.js'
import { createIdSource } from './ids.js'
import { createLogger } from './logger.js'
import { resolveModel } from './models/resolve-model.js'
import { createIntake } from './session/intake.js'
import type { Coordinator, Log } from './session/ports.js'
import { maskPassword } from './store/database-url.js'
import { openStore, type OpenStore } from './store/open.js'
import { startWorkerPool, type EndedTurn, type WorkerPool } from './worker/pool.js'

export interface PerdureOptions {
  /** Names must differ. */
  readonly agents: readonly Agent[]
  /** Wins over the environment. */
  readonly config?: Partial<Config>
  /** Says who sends a request; null refuses it. Without it only this machine is served, and everybody on it is trusted. */
  readonly authenticate?: Authenticate
  readonly log?: Log
  /** Called for each turn that ended in this process. Nothing waits for it; what it throws, or rejects with, is logged. */
  readonly onTurn?: (turn: TurnSummary) => void | Promise<void>
}
export interface TurnSummary {
  /** When it ended, milliseconds since 1970. */
  readonly at: number
  readonly sessionId: string
  readonly agent: string
  readonly number: number
  readonly outcome: 'completed' | 'failed' | 'cancelled'
  readonly steps: number
  readonly toolCalls: number
  readonly tokens: number
  readonly durationMs: number
  readonly failure: { readonly code: string; readonly message: string } | null
}

/** A server in this process. */
export interface Perdure {
  readonly info: {
    readonly agents: readonly string[]
    readonly models: readonly string[]
    readonly storage: {
      readonly kind: 'embedded' | 'postgres'
      readonly location: string
      readonly sessions: number
      readonly recovered: number
    }
  }
  /** Answers GraphQL at /graphql, for a server of your own. Sessions are driven whether or not `listen` is called. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  /** Binds the configured port. The URL has no slash at its end. Throws what the port answers, e.g. EADDRINUSE. */
  listen(): Promise<{ readonly url: string }>
  /** Lets what runs reach a commit, gives the rest back, closes port and storage. Repeating it waits for the same stop. */
  stop(): Promise<void>
}

const MIGRATIONS_DIR = fileURLToPath(new URL('../prisma/migrations', import.meta.url))
/** The process is the lease when it alone can open the data folder: its leases never run out while it lives. */
const EMBEDDED_LEASE_MS = 10 * 365 * 24 * 3600_000
const SWEEP_INTERVAL_MS = 1000
/** Longer than load balancers and clients keep an idle connection, so that none is closed under a request. */
const KEEP_ALIVE_MS = 75_000
/** What running tools get to finish when the process stops. */
const DRAIN_MS = { development: 500, production: 10_000 } as const

/** Opens the storage and begins to drive sessions. Throws PerdureError for a setup that cannot work; nothing is left open then. */
export async function createPerdure(options: PerdureOptions): Promise<Perdure> {
  const config = { ...loadConfig({ authenticated: options.authenticate !== undefined }), ...options.config }
  const log = options.log ?? createLogger({ level: config.logLevel, format: 'json' })
  const { apiKey, baseUrl, model } = config.openai
  const settings = { openaiApiKey: apiKey ?? undefined, openaiBaseUrl: baseUrl ?? undefined, openaiModel: model ?? undefined }
  const agents = createRegistry(options.agents, (spec, agent) => resolveModel(spec, { ...settings, agent }))
  const opened = await open(config, log)
  let engine: ReturnType<typeof startEngine> | null = null
  try {
    const sessions = await opened.prisma.session.count()
    const recovered = opened.recovered
    const started = (engine = startEngine({ config, log, agents, opened, onTurn: options.onTurn ?? (() => undefined) }))
    const handler = createGraphqlHandler(
      { ...started, prisma: opened.prisma, store: opened.store, agents, clock: systemClock, log, development: config.development },
      { authenticate: options.authenticate ?? null },
    )
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, handler)
    const models = [...new Set(agents.describe().map((agent) => agent.model))]
    return {
      info: { agents: agents.names, models, storage: { kind: opened.database.kind, location: locationOf(config), sessions, recovered } },
      handler,
      listen: () => listen(server, config),
      stop: once(() => stop(server, started, opened, config)),
    }
  } catch (thrown) {
    if (engine !== null) await halt(engine, 0)
    await engine?.coordinator.close()
    await opened.close()
    throw thrown
  }
}

/** Applies what the configured database lacks; repeating it does nothing. */
export async function migrateDatabase(config: Config): Promise<{ readonly applied: readonly string[]; readonly location: string }> {
  const opened = await open(config, createLogger({ level: config.logLevel, format: 'text' }))
  await opened.close()
  return { applied: opened.applied, location: locationOf(config) }
}

function open(config: Config, log: Log): Promise<OpenStore> {
  const { databaseUrl, dataDir } = config
  return openStore({
    databaseUrl,
    dataDir,
    migrationsDir: MIGRATIONS_DIR,
    clock: systemClock,
    // Four tries fit into a lease.
    replyTimeoutMs: config.leaseTtlMs / 4,
    log: (message) => log.warn(message),
  })
}

function locationOf({ databaseUrl, dataDir }: Config): string {
  return databaseUrl === null ? dataDir : maskPassword(new URL(databaseUrl))
}

interface Engine {
  readonly coordinator: Coordinator
  readonly feed: Feed
  readonly pool: WorkerPool
  readonly drain: () => Promise<void>
}
interface EngineOptions {
  readonly config: Config
  readonly log: Log
  readonly agents: AgentRegistry
  readonly opened: OpenStore
  readonly onTurn: NonNullable<PerdureOptions['onTurn']>
}

/** Everything between the storage and the port. */
function startEngine({ config, log, agents, opened, onTurn }: EngineOptions) {
  const clock = systemClock
  const ids = createIdSource()
  const { store } = opened
  const isEmbedded = opened.database.kind === 'embedded'
  const leaseTtlMs = isEmbedded ? EMBEDDED_LEASE_MS : config.leaseTtlMs
  const coordinator = createLocalCoordinator({ clock })
  const writer = createEventWriter({ store, coordinator, clock, ttlMs: leaseTtlMs, log })
  const feed = createFeed({ store, coordinator, clock, log })
  const intake = createIntake({ store, coordinator, clock, ids, deployment: config.deployment })
  const pool = startWorkerPool({
    store,
    coordinator,
    writer,
    agents,
    clock,
    ids,
    random: Math.random,
    log,
    slots: config.slots,
    leaseTtlMs,
    renewsLeases: !isEmbedded,
    sweepIntervalMs: SWEEP_INTERVAL_MS,
    onTurnEnded: (turn) => tellOf(toSummary(turn), { onTurn, log }),
  })
  return { coordinator, feed, intake, ids, pool, drain: () => writer.drain() }
}

/** Whoever counts turns is the application's: neither a throw nor a rejection of it may reach the engine, or end the process. */
function tellOf(turn: TurnSummary, { onTurn, log }: Pick<EngineOptions, 'onTurn' | 'log'>): void {
  void Promise.resolve()
    .then(() => onTurn(turn))
    .catch((err: unknown) => log.warn('onTurn failed', { err, session: turn.sessionId }))
}

function toSummary({ session, number, steps, calls, startedAt, closed }: EndedTurn): TurnSummary {
  const { promptTokens, completionTokens } = closed.usage
  return {
    at: closed.endedAt,
    sessionId: session.facts.id,
    agent: session.facts.agent,
    number,
    outcome: ({ COMPLETED: 'completed', FAILED: 'failed', CANCELLED: 'cancelled' } as const)[closed.status],
    steps,
    toolCalls: calls,
    tokens: (promptTokens ?? 0) + (completionTokens ?? 0),
    durationMs: closed.endedAt - startedAt,
    failure: closed.error,
  }
}

function listen(server: Server, { port, host }: Config): Promise<{ readonly url: string }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      resolve({ url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}` })
    })
  })
}

async function stop(server: Server, engine: Engine, opened: OpenStore, config: Config): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  await halt(engine, config.development ? DRAIN_MS.development : DRAIN_MS.production)
  server.closeAllConnections()
  if (server.listening) await closed
  await engine.coordinator.close()
  await opened.close()
}

/** From here on nothing asks the storage of its own accord. */
async function halt({ feed, pool, drain }: Engine, deadlineMs: number): Promise<void> {
  feed.close()
  await pool.stop(deadlineMs)
  await drain()
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  return () => (running ??= run())
}
