/**
 * sweep: sessions that are due and that nobody drives.
 * In: agents of this process, checkpoint version it reads, limit. Out: ids, the longest due first; of the same moment the older session.
 */
import type { SessionId } from '../../ids.js'
import { CHECKPOINT_VERSION } from '../../session/checkpoint.js'
import { defineStatement, type Database } from '../database.js'
import { toText } from '../json-column.js'

// now() is the database's clock at the start of the statement; unlike clock_timestamp() it can be the bound of an index scan.
const SWEEP = defineStatement<{ readonly session_id: SessionId }>(
  'sweep',
  `SELECT h.session_id FROM session_head h JOIN session s ON s.id = h.session_id JOIN checkpoint c ON c.session_id = h.session_id
WHERE h.wake_at <= now() AND (h.lease_until IS NULL OR h.lease_until < now()) AND h.open
  AND s.agent_name = ANY($1::text[]) AND c.version <= $2
ORDER BY h.wake_at, h.session_id LIMIT $3`,
)

export async function sweep(
  database: Database,
  options: { readonly agents: readonly string[]; readonly limit: number },
): Promise<readonly SessionId[]> {
  const rows = await database.query(SWEEP, [options.agents.map(toText), CHECKPOINT_VERSION, options.limit])
  return rows.map((row) => row.session_id)
}
