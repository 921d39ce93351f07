/**
 * The composition root: builds every adapter once and hands it over by argument. Nothing else constructs one.
 *
 * Order of life: storage, then what reads and writes it, then the slots, then the port. It stops in the opposite order, so that nothing
 * is asked of what is gone.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Agent } from './agents/define-agent.js'
import { createRegistry } from './agents/registry.js'
import { systemClock } from './clock.js'
import { loadConfig, type Config, type Role } from './config.js'
import { startEngine, type Engine } from './engine.js'
import type { Authenticate } from './graphql/caller.js'
import { createGraphqlHandler } from './graphql/http.js'
import { createLogger } from './logger.js'
import { resolveModel } from './models/resolve-model.js'
import { createOperations } from './operations.js'
import type { Meter } from './session/meter.js'
import type { Log } from './session/ports.js'
import { maskPassword } from './store/database-url.js'
import { openStore, type OpenStore } from './store/open.js'
import type { AskedPeople, EndedTurn } from './worker/pool.js'

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
  /** Called for each request that a turn opened in this process, e.g. to tell who may answer it. As `onTurn`. */
  readonly onRequest?: (request: RequestSummary) => void | Promise<void>
}
export interface RequestSummary {
  /** When it was opened, milliseconds since 1970. */
  readonly at: number
  readonly id: string
  readonly sessionId: string
  readonly agent: string
  readonly kind: 'APPROVAL' | 'QUESTION' | 'AUTHORIZATION' | 'LIMIT'
  readonly prompt: string
  /** `principal:x`, `role:x`, `scope:x`; empty: whom the turn serves. */
  readonly reviewers: readonly string[]
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
    readonly role: Role
    /** Address of Redis, without its password; null: it is not used. */
    readonly redis: string | null
    readonly storage: {
      readonly kind: 'embedded' | 'postgres'
      readonly location: string
      readonly sessions: number
      readonly recovered: number
    }
  }
  /** Answers GraphQL at /graphql and the probes, for a server of your own. Sessions are driven whether or not `listen` is called. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  /** Binds the configured port. The URL has no slash at its end. Throws what the port answers, e.g. EADDRINUSE. */
  listen(): Promise<{ readonly url: string }>
  /** Lets what runs reach a commit, gives the rest back, closes port and storage. Repeating it waits for the same stop. */
  stop(): Promise<void>
}

const MIGRATIONS_DIR = fileURLToPath(new URL('../prisma/migrations', import.meta.url))
/** Longer than load balancers and clients keep an idle connection, so that none is closed under a request. */
const KEEP_ALIVE_MS = 75_000
/** What requests that are being answered get when the process stops. */
const ANSWER_MS = 2000

/** Opens the storage and begins to drive sessions. Throws PerdureError for a setup that cannot work; nothing is left open then. */
export async function createPerdure(options: PerdureOptions): Promise<Perdure> {
  const config = { ...loadConfig({ authenticated: options.authenticate !== undefined }), ...options.config }
  const log = options.log ?? createLogger({ level: config.logLevel, format: 'json' })
  const { apiKey, baseUrl, model } = config.openai
  const settings = { openaiApiKey: apiKey ?? undefined, openaiBaseUrl: baseUrl ?? undefined, openaiModel: model ?? undefined }
  const agents = createRegistry(options.agents, (spec, agent) => resolveModel(spec, { ...settings, agent }))
  const opened = await open(config, log)
  let engine: Engine | null = null
  const operations = createOperations({ config, log, agents, opened, engine: () => engine })
  try {
    const sessions = await opened.prisma.session.count()
    const onTurnEnded = tellOfTurns(operations.meter, options.onTurn ?? (() => undefined), log)
    const onAsked = tellOfRequests(options.onRequest ?? (() => undefined), log)
    const started = (engine = await startEngine({ config, log, meter: operations.meter, agents, opened, onTurnEnded, onAsked }))
    const graphql = createGraphqlHandler(
      { ...started, prisma: opened.prisma, store: opened.store, agents, clock: opened.clock, log, development: config.development },
      { authenticate: options.authenticate ?? null },
    )
    const handler: Perdure['handler'] = (request, response) => {
      if (!operations.handler(request, response)) graphql(request, response)
    }
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, handler)
    const models = [...new Set(agents.describe().map((agent) => agent.model))]
    const { kind } = opened.database
    return {
      info: {
        ...{ agents: agents.names, models, role: config.role, redis: redisOf(config) },
        storage: { kind, location: locationOf(config), sessions, recovered: opened.recovered },
      },
      handler,
      listen: () => listen(server, config),
      stop: once(async () => {
        operations.announceStop()
        await stop(server, started, opened, config)
        operations.close()
      }),
    }
  } catch (thrown) {
    operations.close()
    await engine?.stop(0)
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
  const { databaseUrl, dataDir, poolSize } = config
  return openStore({
    ...{ databaseUrl, dataDir, poolSize },
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

/** Null when it is not used: the embedded database serves one process. */
function redisOf({ redisUrl, databaseUrl }: Config): string | null {
  return redisUrl === null || databaseUrl === null ? null : maskPassword(new URL(redisUrl))
}

/** Whoever counts turns is the application's: neither a throw nor a rejection of it may reach the engine, or end the process. */
function tellOfTurns(meter: Meter, onTurn: NonNullable<PerdureOptions['onTurn']>, log: Log): (turn: EndedTurn) => void {
  return (ended) => {
    const turn = toSummary(ended)
    const { promptTokens, completionTokens } = ended.closed.usage
    meter.turnEnded({ ...turn, promptTokens: promptTokens ?? 0, completionTokens: completionTokens ?? 0 })
    tellAuthor('onTurn', () => onTurn(turn), { log, session: turn.sessionId })
  }
}

function tellOfRequests(onRequest: NonNullable<PerdureOptions['onRequest']>, log: Log): (asked: AskedPeople) => void {
  return ({ session: { facts }, requests }) => {
    for (const { id, kind, prompt, reviewers, openedAt: at } of requests) {
      const request = { at, id, sessionId: facts.id, agent: facts.agent, kind, prompt, reviewers }
      tellAuthor('onRequest', () => onRequest(request), { log, session: facts.id })
    }
  }
}

function tellAuthor(
  what: string,
  tell: () => void | Promise<void>,
  { log, session }: { readonly log: Log; readonly session: string },
): void {
  void Promise.resolve()
    .then(tell)
    .catch((err: unknown) => log.warn(`${what} failed`, { err, session }))
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

/** What is being answered gets a while; connections that idle go at once. */
async function closePort(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const cancel = systemClock.after(ANSWER_MS, () => server.closeAllConnections())
  await closed
  cancel()
}

/** The port stays open until nothing is driven here any more: whoever probes reads that it stops, and messages are still accepted. */
async function stop(server: Server, engine: Engine, opened: OpenStore, config: Config): Promise<void> {
  await engine.stop(config.drainMs)
  await closePort(server)
  await engine.coordinator.close()
  await opened.close()
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  return () => (running ??= run())
}
