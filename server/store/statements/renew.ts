/**
 * renew: extends the leases of a process in one statement.
 * In: leases, time to live. Out: inbox and control of each that still holds.
 *
 * Rows are locked in the order of their ids, as release does, so that the two never wait for each other.
 */
import type { SessionId } from '../../ids.js'
import type { LeaseNews } from '../../session/ports.js'
import type { Lease } from '../../session/session.js'
import { defineStatement, type Database } from '../database.js'
import { LEASE_RECORD, toLeases } from '../lease-row.js'

interface RenewRow {
  readonly session_id: SessionId
  readonly inbox: number
  readonly control: number
}

const RENEW = defineStatement<RenewRow>(
  'renew',
  `WITH leases AS (
  SELECT * FROM json_to_recordset($1::json) AS l(${LEASE_RECORD})
), mine AS (
  SELECT l.session_id, l.epoch FROM leases l
  JOIN session_head h ON h.session_id = l.session_id AND h.epoch = l.epoch AND h.owner = l.owner
  WHERE h.session_id = ANY(ARRAY(SELECT session_id FROM leases))
  ORDER BY h.session_id FOR NO KEY UPDATE OF h
)
UPDATE session_head h SET lease_until = clock_timestamp() + $2 * interval '1 millisecond'
FROM mine WHERE h.session_id = mine.session_id AND h.epoch = mine.epoch AND h.owner IS NOT NULL
RETURNING h.session_id, h.inbox, h.control`,
)

export async function renew(database: Database, leases: readonly Lease[], ttlMs: number): Promise<ReadonlyMap<SessionId, LeaseNews>> {
  if (leases.length === 0) return new Map()
  const rows = await database.query(RENEW, [toLeases(leases), ttlMs])
  return new Map(rows.map((row) => [row.session_id, { inbox: row.inbox, control: row.control }]))
}
