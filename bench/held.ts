/** What sessions that rest hold: leases, connections, timers. */
import { setTimeout as wait } from 'node:timers/promises'
import { defineStatement, type Database } from '../server/store/database.js'
import { toText } from '../server/store/json-column.js'
import { median } from './series.js'

/** What comes and goes by itself (a sweep, a beat) is seen at a few looks only. */
const LOOKS = 21
const PAUSE_MS = 50

const LEASES = defineStatement<{ readonly held: number }>(
  'bench-leases',
  'SELECT count(*)::int AS held FROM session_head WHERE owner IS NOT NULL OR lease_until > now()',
)
const CONNECTIONS = defineStatement<{ readonly open: number }>(
  'bench-connections',
  'SELECT count(*)::int AS open FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1',
)

export async function countLeases(database: Database): Promise<number> {
  const [row] = await database.query(LEASES, [])
  return row?.held ?? Number.NaN
}

/** Of processes that go by this name. */
export async function countConnections(database: Database, application: string): Promise<number> {
  const [row] = await database.query(CONNECTIONS, [toText(application)])
  return row?.open ?? Number.NaN
}

/** As it is most of the time. */
export async function watchCount(count: () => number | Promise<number>, signal: AbortSignal): Promise<number> {
  const counts: number[] = []
  while (counts.length < LOOKS) {
    counts.push(await count())
    await wait(PAUSE_MS, undefined, { signal })
  }
  return median(counts)
}
