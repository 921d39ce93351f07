/**
 * inspect-migrations: which migrations a start would apply. It applies none.
 * In: the folder of migrations. Out: their names. Throws what a start would throw: a newer database, an edited migration.
 */
import { defineStatement, type Database } from '../database.js'
import { migrate } from '../migrate.js'

const HAS_TABLE = defineStatement<{ readonly found: boolean }>(
  'inspect-migrations',
  `SELECT to_regclass('public._prisma_migrations') IS NOT NULL AS found`,
)

/** The migration itself goes through its steps, on a connection that takes no orders and only tells what was applied. */
export async function inspectMigrations(database: Database, directory: string): Promise<readonly string[]> {
  const [table] = await database.query(HAS_TABLE, [])
  return migrate(
    {
      exec: () => Promise.resolve(),
      query: async (sql) => {
        if (!sql.includes('FROM _prisma_migrations') || table?.found !== true) return []
        return database.query(defineStatement<object>('inspect-applied', sql), [])
      },
    },
    directory,
  )
}
