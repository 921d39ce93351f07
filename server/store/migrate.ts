/**
 * Brings a database up to date at the start, in Prisma's own format: the same table, the same checksums, the same lock, so that
 * `prisma migrate status` and `deploy` agree with it. Each migration is one transaction: it is applied and recorded, or neither.
 */
import { createHash, randomUUID } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PerdureError, toMessage } from '../errors.js'

/** One connection, for the time of the migration. */
export interface MigrationConnection {
  /** Several statements. */
  exec(sql: string): Promise<unknown>
  query(sql: string): Promise<readonly unknown[]>
}

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}
interface AppliedRow {
  readonly migration_name: string
  readonly checksum: string
  readonly finished: boolean
}

/** The number that Prisma's own commands lock. */
const LOCK = 72707369
const TABLE = `CREATE TABLE IF NOT EXISTS _prisma_migrations (
  id VARCHAR(36) PRIMARY KEY NOT NULL, checksum VARCHAR(64) NOT NULL, finished_at TIMESTAMPTZ, migration_name VARCHAR(255) NOT NULL,
  logs TEXT, rolled_back_at TIMESTAMPTZ, started_at TIMESTAMPTZ NOT NULL DEFAULT now(), applied_steps_count INTEGER NOT NULL DEFAULT 0)`

/** Applies what is missing, in the order of names; answers the names. A second process that starts meanwhile waits and finds nothing to do. */
export async function migrate(connection: MigrationConnection, directory: string): Promise<readonly string[]> {
  const migrations = await readMigrations(directory)
  await connection.query(`SELECT pg_advisory_lock(${LOCK})`)
  try {
    await connection.exec(TABLE)
    const missing = findMissing(migrations, await readApplied(connection))
    for (const migration of missing) await apply(connection, migration)
    return missing.map((migration) => migration.name)
  } finally {
    await connection.query(`SELECT pg_advisory_unlock(${LOCK})`)
  }
}

async function readMigrations(directory: string): Promise<readonly Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch((thrown: unknown) => {
    throw new PerdureError('MIGRATIONS_MISSING', `no migrations in ${directory}: ${toMessage(thrown)}`, { hint: 'install Perdure again' })
  })
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(directory, name, 'migration.sql'), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

async function readApplied(connection: MigrationConnection): Promise<readonly AppliedRow[]> {
  const rows = await connection.query(
    'SELECT migration_name, checksum, finished_at IS NOT NULL AS finished FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY migration_name',
  )
  return rows as readonly AppliedRow[]
}

function findMissing(migrations: readonly Migration[], applied: readonly AppliedRow[]): readonly Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  for (const row of applied) {
    const migration = known.get(row.migration_name)
    if (!row.finished) throw failedEarlier(row.migration_name)
    if (migration === undefined) throw newerDatabase(row.migration_name, migrations.at(-1)?.name ?? 'none')
    if (migration.checksum !== row.checksum) throw edited(row.migration_name)
  }
  const done = new Set(applied.map((row) => row.migration_name))
  return migrations.filter((migration) => !done.has(migration.name))
}

async function apply(connection: MigrationConnection, { name, sql, checksum }: Migration): Promise<void> {
  const row = `'${randomUUID()}', '${checksum}', '${name.replaceAll("'", "''")}', now(), 1`
  const record = `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at, applied_steps_count) VALUES (${row})`
  try {
    await connection.exec(`BEGIN;\n${sql}\n;\n${record};\nCOMMIT;`)
  } catch (thrown) {
    await connection.exec('ROLLBACK')
    throw new PerdureError('MIGRATION_FAILED', `migration ${name} failed and nothing of it was applied: ${toMessage(thrown)}`, {
      hint: 'mend what it names and start again; a user who owns the database is needed',
      cause: thrown,
    })
  }
}

function failedEarlier(name: string): PerdureError {
  return new PerdureError('MIGRATION_FAILED', `migration ${name} was begun by another tool and never finished.`, {
    hint: `look at its row in _prisma_migrations, mend the database, then: npx prisma migrate resolve --rolled-back ${name}`,
  })
}

function newerDatabase(name: string, newest: string): PerdureError {
  return new PerdureError(
    'DATABASE_NEWER',
    `the database is newer than this release: it has migration ${name}, this release knows up to ${newest}.`,
    {
      hint: 'upgrade this process, or restore a backup from before the upgrade',
    },
  )
}

function edited(name: string): PerdureError {
  return new PerdureError('MIGRATION_EDITED', `migration ${name} was edited after it was applied.`, {
    hint: `restore prisma/migrations/${name}/migration.sql as it was released, and write a new migration for the change`,
  })
}
