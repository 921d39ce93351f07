import type { Lease } from '../session/session.js'
import { toJson, type SafeText } from './json-column.js'

/** Leases as a record set. */
export const LEASE_RECORD = 'session_id text, epoch int, owner text'

export function toLeases(leases: readonly Lease[]): SafeText {
  return toJson(leases.map((lease) => ({ session_id: lease.sessionId, epoch: lease.epoch, owner: lease.owner })))
}
