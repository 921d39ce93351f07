import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../server/clock.js'
import { openStore, type OpenStore } from '../../server/store/open.js'
import { MIGRATIONS, createTestDatabase, type TestDatabase } from '../support/databases.js'

let database: TestDatabase
let directory: string

beforeEach(async () => {
  database = await createTestDatabase()
  directory = await mkdtemp(join(tmpdir(), 'perdure-migrations-'))
  await cp(MIGRATIONS, directory, { recursive: true })
})
afterEach(async () => {
  await database.drop()
  await rm(directory, { recursive: true })
})

const SECOND = '29990101000000_second'

/** The migrations of this repository, in order. */
async function ours(): Promise<readonly string[]> {
  const entries = await readdir(MIGRATIONS, { withFileTypes: true })
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort()
}

async function add(name: string, sql: string): Promise<void> {
  await mkdir(join(directory, name), { recursive: true })
  await writeFile(join(directory, name, 'migration.sql'), sql)
}

function open(migrationsDir = directory): Promise<OpenStore> {
  return openStore({ databaseUrl: database.url, dataDir: '', migrationsDir, clock: systemClock })
}

/** Opens, reads, closes. */
async function applied(): Promise<readonly string[]> {
  const opened = await open()
  await opened.close()
  return opened.applied
}

async function withDatabase<Value>(work: (opened: OpenStore) => Promise<Value>): Promise<Value> {
  const opened = await open()
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

describe('migrations at the start', () => {
  it('applies what is missing, once, in the order of names', async () => {
    const first = await applied()
    expect(first).toEqual(await ours())
    expect(await applied()).toEqual([])
    await add('29990102000000_third', 'ALTER TABLE extra ADD COLUMN more TEXT;')
    await add(SECOND, 'CREATE TABLE extra (id TEXT);')
    expect(await applied()).toEqual([SECOND, '29990102000000_third'])
  })

  it('of several processes at once applies each one once', async () => {
    const all = await Promise.all(Array.from({ length: 4 }, applied))
    expect(all.flat().sort()).toEqual(await ours())
  })

  it('records them as Prisma does', async () => {
    const rows = await withDatabase(({ prisma }) => prisma.$queryRaw<object[]>`SELECT * FROM _prisma_migrations`)
    const record = { checksum: expect.stringMatching(/^[0-9a-f]{64}$/), applied_steps_count: 1, rolled_back_at: null, logs: null }
    expect(rows).toMatchObject((await ours()).map(() => record))
  })

  it('leaves nothing behind of one that fails, and goes on when it is mended', async () => {
    await add(SECOND, 'CREATE TABLE extra (id TEXT);\nINSERT INTO nowhere VALUES (1);')
    await expect(open()).rejects.toMatchObject({ code: 'MIGRATION_FAILED', message: expect.stringContaining('"nowhere" does not exist') })
    await add(SECOND, 'CREATE TABLE extra (id TEXT);')
    expect(await applied()).toEqual([SECOND])
  })

  it('refuses one that was edited after it was applied', async () => {
    const [name] = await applied()
    const path = join(directory, name ?? '', 'migration.sql')
    await writeFile(path, `${await readFile(path, 'utf8')}\n-- edited`)
    await expect(open()).rejects.toMatchObject({ code: 'MIGRATION_EDITED', message: expect.stringContaining(name ?? '') })
  })

  it('refuses a database that is newer than the code', async () => {
    await add(SECOND, 'CREATE TABLE extra (id TEXT);')
    await applied()
    await expect(open(MIGRATIONS)).rejects.toMatchObject({ code: 'DATABASE_NEWER', message: expect.stringContaining(SECOND) })
  })

  it('refuses one that another tool began and did not finish', async () => {
    await withDatabase(({ prisma }) => prisma.$executeRaw`UPDATE _prisma_migrations SET finished_at = NULL`)
    await expect(open()).rejects.toMatchObject({ code: 'MIGRATION_FAILED', hint: expect.stringContaining('migrate resolve') })
    await expect(open()).rejects.toMatchObject({ code: 'MIGRATION_FAILED' })
  })
})
