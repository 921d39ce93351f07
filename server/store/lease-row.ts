/** A lease in SQL, and how long a session is left alone when one led nowhere. */
import { CLAIM_PAUSE } from '../session/retry.js'
import type { Lease } from '../session/session.js'
import { toJson, type SafeText } from './json-column.js'

/** Leases as a record set. */
export const LEASE_RECORD = 'session_id text, epoch int, owner text'

export function toLeases(leases: readonly Lease[]): SafeText {
  return toJson(leases.map((lease) => ({ session_id: lease.sessionId, epoch: lease.epoch, owner: lease.owner })))
}

/** Doubling a start by 2^10 passes every bound; more would leave the range of a float one day. */
const MAX_DOUBLINGS = 10

/**
 * The pause after `claims` claims without a commit, an SQL expression over that column. The jitter parts sessions that one of them took
 * down together: the next time they are claimed apart, and only the one at fault keeps its worker from a commit.
 */
export function pauseAfter(claims: string): string {
  const { baseDelayMs, maxDelayMs } = CLAIM_PAUSE
  const doubled = `${baseDelayMs} * power(2, LEAST(GREATEST(${claims} - 1, 0), ${MAX_DOUBLINGS}))`
  return `LEAST(${doubled}, ${maxDelayMs}) * (0.5 + random() / 2) * interval '1 millisecond'`
}
