/**
 * inspect-backlog: sessions that should have been taken and were not, by agent; and open ones that a newer release wrote.
 * In: checkpoint version of this release, how long due, where to stop counting. Out: groups, counts.
 *
 * A session that lost its driver is due since the lease ran out; its wake time is from before it was driven.
 */
import { CHECKPOINT_VERSION } from '../../session/checkpoint.js'
import { defineStatement, type Database } from '../database.js'

export interface Backlog {
  /** Due for a minute or longer, and driven by nobody. */
  readonly waiting: readonly WaitingGroup[]
  /** Open sessions whose checkpoint this release cannot read. */
  readonly newer: number
  /** Open sessions that some process drives. */
  readonly driven: number
}
export interface WaitingGroup {
  readonly agent: string
  readonly sessions: number
  /** For how long the first of them has been due. */
  readonly oldestS: number
  /** This release can read their checkpoints. */
  readonly readable: boolean
}

const DUE_FOR_S = 60
const MOST = 10_000

const WAITING = defineStatement<WaitingGroup>(
  'inspect-waiting',
  `SELECT s.agent_name AS agent, c.version <= $1 AS readable, count(*)::int AS sessions,
  extract(epoch FROM now() - min(h.since))::float8 AS "oldestS"
FROM (
  SELECT session_id, GREATEST(wake_at, lease_until) AS since FROM session_head
  WHERE wake_at <= now() - $2 * interval '1 second' AND (lease_until IS NULL OR lease_until < now() - $2 * interval '1 second') AND open
  ORDER BY wake_at LIMIT $3
) h JOIN session s ON s.id = h.session_id JOIN checkpoint c ON c.session_id = h.session_id
GROUP BY 1, 2 ORDER BY 4 DESC`,
)
/** Reads the whole table, for a person who asks once: about half a second for a million sessions. */
const NEWER = defineStatement<{ readonly sessions: number }>(
  'inspect-newer',
  `SELECT count(*)::int AS sessions FROM checkpoint c
WHERE c.version > $1 AND EXISTS (SELECT 1 FROM session_head h WHERE h.session_id = c.session_id AND h.open)`,
)
const DRIVEN = defineStatement<{ readonly sessions: number }>(
  'inspect-driven',
  `SELECT count(*)::int AS sessions FROM session_head WHERE wake_at < now() + interval '5 minutes' AND lease_until > now() AND open`,
)

export async function inspectBacklog(database: Database): Promise<Backlog> {
  const waiting = await database.query(WAITING, [CHECKPOINT_VERSION, DUE_FOR_S, MOST])
  const [newer] = await database.query(NEWER, [CHECKPOINT_VERSION])
  const [driven] = await database.query(DRIVEN, [])
  return { waiting, newer: newer?.sessions ?? 0, driven: driven?.sessions ?? 0 }
}
