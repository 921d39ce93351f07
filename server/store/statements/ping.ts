/**
 * ping: whether the database answers, and takes writes.
 * In: nothing. Out: its time in milliseconds since 1970; whether it is a standby, which only reads.
 */
import { defineStatement, type Database } from '../database.js'

export interface Pong {
  readonly now: number
  readonly standby: boolean
}

const PING = defineStatement<Pong>(
  'ping',
  'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now, pg_is_in_recovery() AS standby',
)

export async function ping(database: Database): Promise<Pong> {
  const [row] = await database.query(PING, [])
  return { now: row?.now ?? Number.NaN, standby: row?.standby ?? true }
}
