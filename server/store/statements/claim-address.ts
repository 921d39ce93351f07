/**
 * claim-address: an open session holds an address from now on, unless another one does.
 * In: session, address, when, how many it may hold. Out: whether there is such a session and it is open, whether it got the address, and
 * how many it holds.
 *
 * The session's lock is held: its end, which releases all of its addresses, comes before or after, and racing claims of one session are
 * counted one after the other.
 */
import { PerdureError } from '../../errors.js'
import type { SessionId } from '../../ids.js'
import type { ClaimAddressOutcome, NewAddress } from '../../session/acceptance.js'
import { defineStatement, type Database } from '../database.js'
import { toMoment, toText } from '../json-column.js'

/** How often racing callers look again. */
const MAX_LOOKS = 5

interface ClaimRow {
  readonly found: boolean
  readonly open: boolean
  readonly claimed: boolean
  readonly full: boolean
  readonly holder: SessionId | null
}

const CLAIM_ADDRESS = defineStatement<ClaimRow>(
  'claim-address',
  `WITH head AS (
  SELECT h.session_id, s.tenant FROM session_head h JOIN session s ON s.id = h.session_id
  WHERE h.session_id = $1 AND h.open FOR NO KEY UPDATE OF h
), room AS MATERIALIZED (
  SELECT session_id, tenant, held_addresses(session_id) < $4 AS has_room FROM head
), claimed AS (
  INSERT INTO address (tenant, address, session_id, claimed_at)
  SELECT tenant, $2, session_id, ${toMoment('$3::float8')} FROM room WHERE has_room
  ON CONFLICT (tenant, address) DO NOTHING
  RETURNING 1
)
SELECT EXISTS (SELECT FROM session_head WHERE session_id = $1) AS found,
  EXISTS (SELECT FROM room) AS open,
  EXISTS (SELECT FROM claimed) AS claimed,
  EXISTS (SELECT FROM room WHERE NOT has_room) AS full,
  (SELECT a.session_id FROM address a JOIN session s ON s.tenant = a.tenant WHERE s.id = $1 AND a.address = $2) AS holder`,
)

export async function claimAddress(database: Database, { sessionId, address, claimedAt, most }: NewAddress): Promise<ClaimAddressOutcome> {
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const [row] = await database.query(CLAIM_ADDRESS, [toText(sessionId), toText(address), claimedAt, most])
    const outcome = row === undefined ? null : toOutcome(sessionId, row)
    if (outcome !== null) return outcome
  }
  throw new PerdureError('BUSY', `the address ${address} kept changing hands; try again`)
}

/** Null: somebody else got it since the statement began, and is not seen yet. */
function toOutcome(sessionId: SessionId, { found, open, claimed, full, holder }: ClaimRow): ClaimAddressOutcome | null {
  if (!open) return { kind: found ? 'ended' : 'not-found' }
  if (claimed || holder === sessionId) return { kind: 'claimed' }
  if (holder !== null) return { kind: 'taken', holder }
  return full ? { kind: 'full' } : null
}
