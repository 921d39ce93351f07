/** A database for each test file: a fresh one on the PostgreSQL server, or a folder of its own for the embedded one. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { systemClock } from '../../server/clock.js'
import { openStore, type OpenStore } from '../../server/store/open.js'

export const MIGRATIONS = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

const SERVER = process.env['TEST_DATABASE_URL'] ?? 'postgresql://postgres@127.0.0.1:5432/postgres'

export interface TestDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** An empty database with a name of its own. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `perdure_test_${randomUUID().replaceAll('-', '')}`
  const url = new URL(SERVER)
  url.pathname = `/${name}`
  await administer(`CREATE DATABASE ${name}`)
  return { url: url.href, drop: () => administer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) }
}

async function administer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: SERVER })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** `close` drops the database. */
export async function openTestPostgres(): Promise<OpenStore & { readonly url: string }> {
  const { url, drop } = await createTestDatabase()
  const opened = await openStore({ databaseUrl: url, dataDir: '', migrationsDir: MIGRATIONS, clock: systemClock })
  return {
    ...opened,
    url,
    close: async () => {
      await opened.close()
      await drop()
    },
  }
}

/** `close` removes the folder. */
export async function openTestEmbedded(): Promise<OpenStore & { readonly dataDir: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'perdure-'))
  const opened = await openStore({ databaseUrl: null, dataDir, migrationsDir: MIGRATIONS, clock: systemClock })
  return {
    ...opened,
    dataDir,
    close: async () => {
      await opened.close()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
