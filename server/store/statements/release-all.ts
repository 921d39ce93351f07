/**
 * release-all: frees every lease, for a process that knows that it is alone.
 * In: nothing. Out: how many there were. An open session is never leased without a wake time, so the index on it finds them.
 * A claim whose process died still counts. It pauses nothing: an embedded server is started again by a person who waits.
 */
import { defineStatement, type Database } from '../database.js'

const RELEASE_ALL = defineStatement<{ readonly session_id: string }>(
  'release-all',
  `UPDATE session_head SET owner = NULL, lease_until = NULL, wake_at = clock_timestamp()
WHERE wake_at IS NOT NULL AND lease_until IS NOT NULL AND open
RETURNING session_id`,
)

export async function releaseAll(database: Database): Promise<number> {
  const rows = await database.query(RELEASE_ALL, [])
  return rows.length
}
