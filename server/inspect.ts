/**
 * What a deployment looks like from this machine, for `perdure doctor`: builds the adapters for one look, as compose.ts does for a life. It
 * applies no migration, takes no session and leaves nothing behind.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Agent } from './agents/define-agent.js'
import { createRegistry } from './agents/registry.js'
import { systemClock } from './clock.js'
import type { Config } from './config.js'
import { inspectRedis, type RedisFacts } from './coordination/inspect-redis.js'
import { PerdureError, toMessage } from './errors.js'
import { resolveModel } from './models/resolve-model.js'
import type { Database } from './store/database.js'
import { parseDatabaseUrl } from './store/database-url.js'
import { openEmbedded } from './store/embedded.js'
import { openPostgres } from './store/postgres.js'
import { inspectBacklog, type Backlog } from './store/statements/inspect-backlog.js'
import { inspectMigrations } from './store/statements/inspect-migrations.js'
import { inspectServer, type ServerFacts } from './store/statements/inspect-server.js'
import { ping } from './store/statements/ping.js'

export interface InspectOptions {
  readonly config: Config
  /** Null: nobody said where they are. */
  readonly loadAgents: (() => Promise<readonly Agent[]>) | null
}
export interface Inspection {
  readonly agents: AgentFacts
  readonly database: DatabaseFacts
  /** Null: it is not used. */
  readonly redis: RedisFacts | null
}
/** An error as it would stop a start. */
export interface Fault {
  readonly code: string
  readonly message: string
  readonly hint: string | null
}
export type AgentFacts =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'faulty'; readonly fault: Fault }
  | { readonly kind: 'loaded'; readonly names: readonly string[]; readonly models: readonly string[] }
export type DatabaseFacts =
  | { readonly kind: 'faulty'; readonly fault: Fault }
  /** The embedded one: no start has made it yet. */
  | { readonly kind: 'absent' }
  /** The embedded one: a process has it, and one is the most that it takes. */
  | { readonly kind: 'held'; readonly message: string }
  | OpenedDatabase
export interface OpenedDatabase {
  readonly kind: 'open'
  readonly engine: 'embedded' | 'postgres'
  readonly server: ServerFacts
  readonly clock: ClockFacts
  /** What the next start would apply, or what would stop it. */
  readonly migrations: { readonly missing: readonly string[] } | Fault
  /** Null: the tables for it are not there. */
  readonly backlog: Backlog | null
}
export interface ClockFacts {
  /** Of the quickest answer, milliseconds: how far away it is. */
  readonly roundTripMs: number
  /** By how much this machine's clock is ahead of the database's, milliseconds. */
  readonly aheadMs: number
}

const MIGRATIONS_DIR = fileURLToPath(new URL('../prisma/migrations', import.meta.url))
/** A person waits for it, and a table may be long. */
const REPLY_TIMEOUT_MS = 10_000
const PINGS = 7

/** Never throws: what does not work is what is asked for. */
export async function inspectDeployment({ config, loadAgents }: InspectOptions): Promise<Inspection> {
  const { databaseUrl, redisUrl: url, redisPrefix: prefix } = config
  // One after the other: what is measured of one is not to be slowed down by another.
  const agents = await inspectAgents(config, loadAgents)
  const database = await (databaseUrl === null ? inspectFolder(config.dataDir) : inspectPostgres(databaseUrl))
  const redis = url === null || databaseUrl === null ? null : await inspectRedis({ url, prefix, clock: systemClock })
  return { agents, database, redis }
}

async function inspectAgents({ openai }: Config, load: InspectOptions['loadAgents']): Promise<AgentFacts> {
  if (load === null) return { kind: 'unknown' }
  const settings = {
    openaiApiKey: openai.apiKey ?? undefined,
    openaiBaseUrl: openai.baseUrl ?? undefined,
    openaiModel: openai.model ?? undefined,
  }
  try {
    const registry = createRegistry(await load(), (spec, agent) => resolveModel(spec, { ...settings, agent }))
    return { kind: 'loaded', names: registry.names, models: [...new Set(registry.describe().map(({ model }) => model))] }
  } catch (thrown) {
    return { kind: 'faulty', fault: toFault(thrown) }
  }
}

async function inspectPostgres(databaseUrl: string): Promise<DatabaseFacts> {
  try {
    const url = parseDatabaseUrl(databaseUrl)
    return await lookInto(await openPostgres({ url, poolSize: 1, replyTimeoutMs: REPLY_TIMEOUT_MS, onLost: () => undefined }))
  } catch (thrown) {
    return { kind: 'faulty', fault: toFault(thrown) }
  }
}

async function inspectFolder(dataDir: string): Promise<DatabaseFacts> {
  if (!existsSync(join(dataDir, 'postgres.made'))) return { kind: 'absent' }
  try {
    return await lookInto(await openEmbedded({ dataDir, now: systemClock.now(), log: () => undefined }))
  } catch (thrown) {
    const fault = toFault(thrown)
    return fault.code === 'DATA_FOLDER_IN_USE' ? { kind: 'held', message: fault.message } : { kind: 'faulty', fault }
  }
}

async function lookInto(database: Database): Promise<OpenedDatabase> {
  try {
    const clock = await compareClocks(database)
    const server = await inspectServer(database)
    const migrations = await inspectMigrations(database, MIGRATIONS_DIR).then((missing) => ({ missing }), toFault)
    const backlog = await inspectBacklog(database).catch(() => null)
    return { kind: 'open', engine: database.kind, server, clock, migrations, backlog }
  } finally {
    await database.close()
  }
}

/** By the quickest answer: the time that it took is the error of the comparison. */
async function compareClocks(database: Database): Promise<ClockFacts> {
  const answers: { readonly tookMs: number; readonly aheadMs: number }[] = []
  for (let count = 0; count < PINGS; count += 1) {
    const [sentAt, wall] = [systemClock.monotonic(), systemClock.now()]
    const { now } = await ping(database)
    const tookMs = systemClock.monotonic() - sentAt
    answers.push({ tookMs, aheadMs: wall + tookMs / 2 - now })
  }
  const [quickest] = answers.sort((one, other) => one.tookMs - other.tookMs)
  return { roundTripMs: quickest?.tookMs ?? Number.NaN, aheadMs: quickest?.aheadMs ?? Number.NaN }
}

function toFault(thrown: unknown): Fault {
  const code = thrown instanceof PerdureError ? thrown.code : 'INTERNAL'
  return { code, message: toMessage(thrown), hint: thrown instanceof PerdureError ? (thrown.hint ?? null) : null }
}
