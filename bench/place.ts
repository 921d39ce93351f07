/** Databases of the bench's own: a temporary folder, or one beside the database that DATABASE_URL names. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { systemClock } from '../server/clock.js'
import { openStore, type OpenStore } from '../server/store/open.js'

const MIGRATIONS = fileURLToPath(new URL('../prisma/migrations', import.meta.url))

export interface Place {
  readonly kind: 'embedded' | 'postgres'
  /** The embedded one can be open once at a time. `poolSize` is of PostgreSQL; default: the server's. */
  open(poolSize?: number): Promise<OpenStore>
  /** After everything that was opened is closed. */
  drop(): Promise<void>
}

export async function createFolder(): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-bench-'))
  return {
    kind: 'embedded',
    open: () => openStore({ databaseUrl: null, dataDir, migrationsDir: MIGRATIONS, clock: systemClock }),
    drop: () => rm(dataDir, { recursive: true, force: true }),
  }
}

/** Needs the right to create databases. */
export async function createDatabase(beside: string): Promise<Place> {
  const name = `perdure_bench_${randomUUID().replaceAll('-', '')}`
  const url = new URL(beside)
  url.pathname = `/${name}`
  await administer(beside, `CREATE DATABASE ${name}`)
  const databaseUrl = url.href
  return {
    kind: 'postgres',
    open: (poolSize) =>
      openStore({ databaseUrl, dataDir: '', migrationsDir: MIGRATIONS, clock: systemClock, ...(poolSize !== undefined && { poolSize }) }),
    drop: () => administer(beside, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  }
}

async function administer(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
