/**
 * release: gives leases back. Unused ones count for nothing and are due at once; after a fault the session pauses.
 * In: leases, whether it was a fault. Out: nothing; what a newer lease holds, or has been given back, is left alone.
 */
import type { ReleaseReason } from '../../session/ports.js'
import type { Lease } from '../../session/session.js'
import { defineStatement, type Database } from '../database.js'
import { LEASE_RECORD, pauseAfter, toLeases } from '../lease-row.js'

const RELEASE = defineStatement<never>(
  'release',
  `WITH leases AS (
  SELECT * FROM json_to_recordset($1::json) AS l(${LEASE_RECORD})
), mine AS (
  SELECT l.session_id, l.epoch FROM leases l
  JOIN session_head h ON h.session_id = l.session_id AND h.epoch = l.epoch AND h.owner = l.owner
  WHERE h.session_id = ANY(ARRAY(SELECT session_id FROM leases))
  ORDER BY h.session_id FOR NO KEY UPDATE OF h
)
UPDATE session_head h SET owner = NULL, lease_until = NULL,
  claims = CASE WHEN $2::boolean THEN h.claims ELSE GREATEST(h.claims - 1, 0) END,
  wake_at = clock_timestamp() + CASE WHEN $2::boolean THEN ${pauseAfter('h.claims')} ELSE interval '0' END
FROM mine WHERE h.session_id = mine.session_id AND h.epoch = mine.epoch AND h.owner IS NOT NULL`,
)

export async function release(database: Database, leases: readonly Lease[], why: ReleaseReason): Promise<void> {
  if (leases.length > 0) await database.query(RELEASE, [toLeases(leases), why === 'fault'])
}
