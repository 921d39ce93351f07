/**
 * read-queue: how many sessions are due and driven by nobody, and for how long the first has been.
 * In: agents of this process, checkpoint version it reads, where to stop counting. Out: one row.
 *
 * A session that lost its driver is due since the lease ran out; its wake time is from before it was driven.
 */
import { CHECKPOINT_VERSION } from '../../session/checkpoint.js'
import type { QueueState } from '../../session/meter.js'
import { defineStatement, type Database } from '../database.js'
import { toText } from '../json-column.js'

const MOST = 10_000

const READ_QUEUE = defineStatement<{ readonly due: number; readonly oldest_ms: number | null }>(
  'read-queue',
  `SELECT count(*)::int AS due, (extract(epoch FROM now() - min(q.since)) * 1000)::float8 AS oldest_ms FROM (
  SELECT GREATEST(h.wake_at, h.lease_until) AS since FROM session_head h JOIN session s ON s.id = h.session_id JOIN checkpoint c ON c.session_id = h.session_id
  WHERE h.wake_at <= now() AND (h.lease_until IS NULL OR h.lease_until < now()) AND h.open
    AND s.agent_name = ANY($1::text[]) AND c.version <= $2
  ORDER BY h.wake_at LIMIT $3
) q`,
)

export async function readQueue(database: Database, agents: readonly string[]): Promise<QueueState> {
  const [row] = await database.query(READ_QUEUE, [agents.map(toText), CHECKPOINT_VERSION, MOST])
  return { due: row?.due ?? 0, oldestMs: Math.max(row?.oldest_ms ?? 0, 0) }
}
