/**
 * Parked sessions in bulk: one is made by the engine, by a turn that is over or waits for a person, and all its rows are copied under new ids,
 * table by table, as many times as there shall be sessions. Ids grow as the engine's do, so the indexes grow as they would.
 *
 * The session has at most one turn, step, call, request and delivery: all ids of a copy have its number. They are new in the columns of ids,
 * and inside the values that the engine drives by; its events name those of the original.
 */
import pg from 'pg'
import { storedId, type RequestId, type SessionId } from '../server/ids.js'
import { defineStatement, type Database } from '../server/store/database.js'
import { administer } from './place.js'

/** Sessions of one statement: few, so that the rows of a session lie near each other, as they do when they are written turn by turn. */
const CHUNK = 2000

interface Column {
  readonly table: string
  readonly column: string
  readonly isId: boolean
  /** JSON that the engine drives by. */
  readonly isState: boolean
}

/** The id of the copy of that number, from 1. */
export function parkedId(number: number): SessionId {
  return storedId('ses', `ses_${toNumber(number)}`)
}

/** Of what it asks. */
export function parkedRequestId(number: number): RequestId {
  return storedId('req', `req_${toNumber(number)}`)
}

function toNumber(number: number): string {
  return `0${String(number).padStart(25, '0')}`
}

/** Numbers of copies all over the database, none twice. */
export function createLottery(count: number): () => number {
  const drawn = new Set<number>()
  return () => {
    const number = 1 + Math.floor(Math.random() * count)
    if (drawn.has(number)) return firstFree(drawn)
    drawn.add(number)
    return number
  }
}

function firstFree(drawn: Set<number>): number {
  for (let number = 1; ; number += 1) {
    if (drawn.has(number)) continue
    drawn.add(number)
    return number
  }
}

const SIZE = defineStatement<{ readonly bytes: number }>('bench-size', 'SELECT pg_database_size(current_database())::float8 AS bytes')

/** Of the whole database, on disk. */
export async function readDatabaseMiB(database: Database): Promise<number> {
  const [size] = await database.query(SIZE, [])
  return (size?.bytes ?? Number.NaN) / 2 ** 20
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
SELECT c.table_name AS table, c.column_name AS column, c.data_type = 'text' AND (c.column_name = 'id' OR c.column_name LIKE '%\\_id') AS "isId",
  c.data_type = 'jsonb' AND c.table_name IN ('checkpoint', 'history') AS "isState"
FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
WHERE c.table_schema = 'public' AND t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER' AND (c.table_name = 'session' OR EXISTS (
  SELECT FROM information_schema.columns o WHERE o.table_schema = 'public' AND o.table_name = c.table_name AND o.column_name = 'session_id'))
ORDER BY c.table_name, c.ordinal_position`)
  return rows
}

const IDS = `'(turn|stp|call|req|dlv)_[0-7][0-9a-z]{25}'`

/** $1: the session that is copied; $2, $3: numbers of the first and the last copy. What does not look like an id stays as it is. */
function toInserts(columns: readonly Column[]): readonly string[] {
  const tables = [...new Set(columns.map(({ table }) => table))]
  return tables.map((table) => {
    const own = columns.filter((column) => column.table === table)
    const names = own.map(({ column }) => `"${column}"`).join(', ')
    const stems = own.map(toStem).join(', ')
    const values = own.map(toValue).join(', ')
    return `WITH t AS MATERIALIZED (SELECT ${stems} FROM "${table}" WHERE "${table === 'session' ? 'id' : 'session_id'}" = $1)
INSERT INTO "${table}" (${names}) SELECT ${values}
FROM (SELECT '0' || lpad(n::text, 25, '0') AS number FROM generate_series($2::int, $3::int) AS n) copy, t`
  })
}

/** What is the same for all copies, found once. */
function toStem({ column, isId, isState }: Column): string {
  if (isId) return `regexp_replace("${column}", '[0-7][0-9a-z]{25}$', '') AS "${column}"`
  return isState ? `"${column}", "${column}"::text ~ ${IDS} AS "${column} names ids"` : `"${column}"`
}

function toValue({ column, isId, isState }: Column): string {
  const value = `t."${column}"`
  if (isId) return `CASE WHEN right(${value}, 1) = '_' THEN ${value} || copy.number ELSE ${value} END`
  if (!isState) return value
  return `CASE WHEN t."${column} names ids" THEN regexp_replace(${value}::text, ${IDS}, '\\1_' || copy.number, 'g')::jsonb ELSE ${value} END`
}
