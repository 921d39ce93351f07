/**
 * read-claimed: what a claim reads, once more, under the lease that it took.
 * In: session, epoch. Out: the session, or no row when a newer lease exists.
 */
import type { Lease } from '../../session/session.js'
import { defineStatement, type Database } from '../database.js'
import { toText } from '../json-column.js'
import { SELECT_SESSION, type SessionRow } from '../session-row.js'

const READ_CLAIMED = defineStatement<SessionRow>(
  'read-claimed',
  `WITH head AS (
  SELECT session_id, epoch, revision, inbox, control, claims FROM session_head WHERE session_id = $1 AND epoch = $2
)${SELECT_SESSION}`,
)

export async function readClaimed(database: Database, lease: Lease): Promise<SessionRow | null> {
  const [row] = await database.query(READ_CLAIMED, [toText(lease.sessionId), lease.epoch])
  return row ?? null
}
