/** Databases of the bench's own, and a prefix in Redis: a temporary folder, or a database beside the one that DATABASE_URL names. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import pg from 'pg'
import { systemClock } from '../server/clock.js'
import { openStore, type OpenStore } from '../server/store/open.js'

const MIGRATIONS = fileURLToPath(new URL('../prisma/migrations', import.meta.url))

/** PostgreSQL cuts names off at 63 bytes. */
const MAX_NAME = 45

/** What the machine has; null: not given. */
export interface Services {
  readonly databaseUrl: string | null
  readonly redisUrl: string | null
}
export interface Place {
  readonly kind: 'embedded' | 'postgres'
  readonly databaseUrl: string | null
  readonly redis: { readonly url: string; readonly prefix: string } | null
  /** What a process of the server needs to work here. */
  readonly env: Readonly<Record<string, string>>
  /** The embedded one can be open once at a time. `poolSize` is of PostgreSQL; default: the server's. */
  open(poolSize?: number): Promise<OpenStore>
  /** After everything that was opened is closed. */
  drop(): Promise<void>
}

export async function createFolder(): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  return {
    kind: 'embedded',
    databaseUrl: null,
    redis: null,
    env: { PERDURE_DATA_DIR: dataDir },
    open: () => openStore({ databaseUrl: null, dataDir, migrationsDir: MIGRATIONS, clock: systemClock }),
    drop: () => rm(dataDir, { recursive: true, force: true }),
  }
}

/** Needs the right to create databases. */
export async function createDatabase(beside: string, redisUrl: string | null): Promise<Place> {
  const url = new URL(beside)
  const name = `${url.pathname.slice(1).replaceAll(/\W/g, '_').slice(0, MAX_NAME)}_bench_${randomBytes(4).toString('hex')}`
  url.pathname = `/${name}`
  await administer(beside, `CREATE DATABASE "${name}"`)
  const databaseUrl = url.href
  const redis = redisUrl === null ? null : { url: redisUrl, prefix: name }
  return {
    kind: 'postgres',
    databaseUrl,
    redis,
    env: { DATABASE_URL: databaseUrl, ...(redis && { REDIS_URL: redis.url, PERDURE_REDIS_PREFIX: redis.prefix }) },
    open: (poolSize) =>
      openStore({ databaseUrl, dataDir: '', migrationsDir: MIGRATIONS, clock: systemClock, ...(poolSize !== undefined && { poolSize }) }),
    async drop() {
      await administer(beside, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`)
      if (redis !== null) await removeKeys(redis)
    },
  }
}

/** The best that there is: what the server would work with in production. */
export function createPlace({ databaseUrl, redisUrl }: Services): Promise<Place> {
  return databaseUrl === null ? createFolder() : createDatabase(databaseUrl, redisUrl)
}

/** One statement, or several that need no answer, on a connection of its own. */
export async function administer(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

async function removeKeys({ url, prefix }: NonNullable<Place['redis']>): Promise<void> {
  const redis = new Redis(url)
  try {
    const keys = await redis.keys(`*${prefix}*`)
    if (keys.length > 0) await redis.del(...keys)
  } finally {
    redis.disconnect()
  }
}
