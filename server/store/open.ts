/** Opens the store that the configuration asks for, brings it up to date, and owns it until `close`. */
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import type { Clock } from '../clock.js'
import { PrismaClient } from '../generated/prisma/client.js'
import type { SessionStore } from '../session/ports.js'
import { CONNECTION_SETTINGS, type Database } from './database.js'
import { createDatabaseClock } from './database-clock.js'
import { maskPassword, parseDatabaseUrl } from './database-url.js'
import { openEmbedded, type Embedded } from './embedded.js'
import { migrate } from './migrate.js'
import { openPostgres, type Postgres } from './postgres.js'
import { createSessionStore } from './session-store.js'

/** Connections to PostgreSQL of one process. */
const POOL_SIZE = 10
const REPLY_TIMEOUT_MS = 2500

export interface OpenStoreOptions {
  /** Address of a PostgreSQL database; null: the embedded one in `dataDir`. */
  readonly databaseUrl: string | null
  readonly dataDir: string
  /** prisma/migrations */
  readonly migrationsDir: string
  /** Of this machine. */
  readonly clock: Clock
  /** Connections to PostgreSQL at most. Default 10. */
  readonly poolSize?: number
  /** A statement whose reply takes longer is repeated on another connection. Default 2,500; well below a lease's life. */
  readonly replyTimeoutMs?: number
  /** Takes a sentence that a person should read once. */
  readonly log?: (message: string) => void
}

export interface OpenStore {
  readonly store: SessionStore
  /** The read side. Shares the connections of the store. */
  readonly prisma: PrismaClient
  readonly database: Database
  /** The time as the database has it, which all processes share. */
  readonly clock: Clock
  /** Address or folder, for people: the password is masked. */
  readonly location: string
  /** Names of the migrations that were missing. */
  readonly applied: readonly string[]
  /** Sessions that a process which is gone had been driving in this data folder; they go on. */
  readonly recovered: number
  close(): Promise<void>
}

/** Throws PerdureError when the database can't be reached, opened or migrated. */
export async function openStore(options: OpenStoreOptions): Promise<OpenStore> {
  const { database, adapter, location, applied } = await openMigrated(options)
  const clock = await createDatabaseClock(database, { clock: options.clock, log: options.log ?? (() => undefined) })
  const store = createSessionStore(database, clock)
  // Embedded, the process is the lease: whoever held one in this folder is gone.
  const recovered = database.kind === 'embedded' ? await store.releaseAll() : 0
  const prisma = new PrismaClient({ adapter })
  return {
    store,
    prisma,
    database,
    clock,
    location,
    applied,
    recovered,
    close: async () => {
      clock.stop()
      await prisma.$disconnect()
      await database.close()
    },
  }
}

interface Migrated {
  readonly database: Database
  readonly adapter: PrismaPg | PrismaPGlite
  readonly location: string
  readonly applied: readonly string[]
}

function openMigrated(options: OpenStoreOptions): Promise<Migrated> {
  const { databaseUrl } = options
  return databaseUrl === null ? openFolder(options) : openServer(options, parseDatabaseUrl(databaseUrl))
}

async function openServer({ poolSize, replyTimeoutMs, migrationsDir, log }: OpenStoreOptions, url: URL): Promise<Migrated> {
  const onLost = (err: Error): void => log?.(`a connection to the database was lost and is replaced: ${err.message}`)
  const database = await openPostgres({
    url,
    poolSize: poolSize ?? POOL_SIZE,
    replyTimeoutMs: replyTimeoutMs ?? REPLY_TIMEOUT_MS,
    onLost,
  })
  const applied = await closeOnFault(database, () => migratePostgres(database, migrationsDir))
  return { database, adapter: new PrismaPg(database.pool), location: maskPassword(url), applied }
}

/** On a connection of its own, which waits as long as a migration takes, or for another process that migrates. */
async function migratePostgres({ pool }: Postgres, directory: string): Promise<readonly string[]> {
  const client = new pg.Client({ ...pool.options, query_timeout: undefined })
  await client.connect()
  const connection = {
    exec: (sql: string) => client.query(sql),
    query: async (sql: string): Promise<readonly unknown[]> => (await client.query<Record<string, unknown>>(sql)).rows,
  }
  try {
    await client.query(CONNECTION_SETTINGS)
    return await migrate(connection, directory)
  } finally {
    await client.end()
  }
}

async function openFolder({ dataDir, migrationsDir, clock, log }: OpenStoreOptions): Promise<Migrated> {
  const database = await openEmbedded({ dataDir, now: clock.now(), log: log ?? (() => undefined) })
  const applied = await closeOnFault(database, () => migrateFolder(database, migrationsDir))
  return { database, adapter: new PrismaPGlite(database.pglite), location: dataDir, applied }
}

function migrateFolder({ pglite }: Embedded, directory: string): Promise<readonly string[]> {
  const connection = {
    exec: (sql: string) => pglite.exec(sql),
    query: async (sql: string): Promise<readonly unknown[]> => (await pglite.query(sql)).rows,
  }
  return migrate(connection, directory)
}

async function closeOnFault<Value>(database: Database, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (thrown) {
    await database.close()
    throw thrown
  }
}
