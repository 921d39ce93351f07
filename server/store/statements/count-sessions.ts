/**
 * count-sessions: how many sessions there are of each status, and how many are driven, for figures.
 * In: nothing. Out: counts.
 *
 * The one read of a whole table, and so the one that goes by Prisma: it may take longer than a statement's reply may, and it needs
 * settings of its own. A scan in the order of the table takes a third of a second for a million sessions, on one core, and goes through a
 * small ring of buffers; by an index it would take longer and push everything else out of the database's memory.
 */
import type { PrismaClient } from '../../generated/prisma/client.js'
import type { SessionCounts } from '../../session/meter.js'
import { SESSION_STATUSES, type SessionStatus } from '../../session/status.js'

const TIMEOUT_MS = 15_000
/** For this transaction only. */
const SETTINGS = `SELECT set_config('enable_seqscan', 'on', true), set_config('max_parallel_workers_per_gather', '0', true),
set_config('statement_timeout', '${TIMEOUT_MS}', true)`
const BY_STATUS = 'SELECT status::text AS status, count(*)::int AS sessions FROM session GROUP BY status'
/** The wake time of a driven session has passed, or, after a claim in vain, comes soon after the lease. */
const DRIVEN = `SELECT count(*)::int AS sessions FROM session_head
WHERE wake_at < clock_timestamp() + interval '5 minutes' AND lease_until > clock_timestamp() AND open`

interface StatusRow {
  readonly status: SessionStatus
  readonly sessions: number
}

export async function countSessions(prisma: PrismaClient): Promise<SessionCounts> {
  const [, statuses, driven] = await prisma.$transaction([
    prisma.$queryRawUnsafe(SETTINGS),
    prisma.$queryRawUnsafe<readonly StatusRow[]>(BY_STATUS),
    prisma.$queryRawUnsafe<readonly Omit<StatusRow, 'status'>[]>(DRIVEN),
  ])
  const found = new Map(statuses.map(({ status, sessions }) => [status, sessions]))
  const counts = Object.fromEntries(SESSION_STATUSES.map((status) => [status, found.get(status) ?? 0]))
  return { statuses: counts as Record<SessionStatus, number>, driven: driven[0]?.sessions ?? 0 }
}
