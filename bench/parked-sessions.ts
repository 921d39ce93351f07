/**
 * Parked sessions in bulk: one is made by the engine, by a turn that is over, and all its rows are copied under new ids, table by table, as
 * many times as there shall be sessions. Ids grow as the engine's do, so the indexes grow as they would.
 */
import pg from 'pg'
import type { SessionId } from '../server/ids.js'
import { storedId } from '../server/ids.js'
import { administer } from './place.js'

/** Sessions of one statement: few, so that the rows of a session lie near each other, as they do when they are written turn by turn. */
const CHUNK = 2000

interface Column {
  readonly table: string
  readonly column: string
  readonly isId: boolean
}

/** The id of the copy of that number, from 1. */
export function parkedId(number: number): SessionId {
  return storedId('ses', `ses_0${String(number).padStart(25, '0')}`)
}

export async function parkSessions(databaseUrl: string, template: SessionId, count: number, signal: AbortSignal): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    // Nothing of it has to outlive a power cut.
    await client.query('SET synchronous_commit = off')
    const inserts = toInserts(await readColumns(client))
    for (let from = 1; from <= count; from += CHUNK) {
      signal.throwIfAborted()
      const to = Math.min(count, from + CHUNK - 1)
      for (const insert of inserts) await client.query(insert, [template, from, to])
    }
  } finally {
    await client.end()
  }
  await administer(databaseUrl, 'VACUUM ANALYZE')
  // What was written is not written out while others measure. It takes a right that not everybody has.
  await administer(databaseUrl, 'CHECKPOINT').catch(() => undefined)
}

async function readColumns(client: pg.Client): Promise<readonly Column[]> {
  const { rows } = await client.query<Column>(`
SELECT c.table_name AS table, c.column_name AS column, c.data_type = 'text' AND (c.column_name = 'id' OR c.column_name LIKE '%\\_id') AS "isId"
FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER' AND (c.table_name = 'session' OR EXISTS (
  SELECT FROM information_schema.columns o WHERE o.table_schema = 'public' AND o.table_name = c.table_name AND o.column_name = 'session_id'))
ORDER BY c.table_name, c.ordinal_position`)
  return rows
}

/** $1: the session that is copied; $2, $3: numbers of the first and the last copy. What does not look like an id stays as it is. */
function toInserts(columns: readonly Column[]): readonly string[] {
  const tables = [...new Set(columns.map(({ table }) => table))]
  return tables.map((table) => {
    const own = columns.filter((column) => column.table === table)
    const names = own.map(({ column }) => `"${column}"`).join(', ')
    const stems = own.map(({ column, isId }) =>
      isId ? `regexp_replace("${column}", '[0-7][0-9a-z]{25}$', '') AS "${column}"` : `"${column}"`,
    )
    const values = own.map(({ column, isId }) =>
      isId ? `CASE WHEN right(t."${column}", 1) = '_' THEN t."${column}" || copy.number ELSE t."${column}" END` : `t."${column}"`,
    )
    return `WITH t AS MATERIALIZED (SELECT ${stems.join(', ')} FROM "${table}" WHERE "${table === 'session' ? 'id' : 'session_id'}" = $1)
INSERT INTO "${table}" (${names}) SELECT ${values.join(', ')}
FROM (SELECT '0' || lpad(n::text, 25, '0') AS number FROM generate_series($2::int, $3::int) AS n) copy, t`
  })
}
