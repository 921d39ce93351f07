/**
 * claim: takes a due session whose lease is free, and reads it.
 * In: session, owner, time to live, agents of this process. Out: the session, or no row.
 *
 * The guards are conditions on the head, which PostgreSQL tests again on the newest version after a wait for its lock. What is read
 * beside it may then be older than the head: `isFresh` tells, and read-claimed reads again under the lease that is held now.
 *
 * It is not waited for until the claim is on the disk: the flush of the first commit under it flushes it too, and nothing that a driver does
 * comes before that. A server of the database that crashes in between forgets the claim, and hands the epoch out again; the owner of the
 * lease, which every write of a driver names, tells the two apart.
 *
 * The claim is counted before anything of it is read. So one that never gets as far as a commit is counted too, also when it takes its
 * process down with it or cannot be decoded; from the second on, the session is due again only some time after its lease has run out.
 */
import type { SessionId } from '../../ids.js'
import type { ClaimOptions } from '../../session/ports.js'
import type { Session } from '../../session/session.js'
import { defineStatement, type Database } from '../database.js'
import { toText } from '../json-column.js'
import { pauseAfter } from '../lease-row.js'
import { SELECT_SESSION, isFresh, isReadable, toSession, type SessionRow } from '../session-row.js'
import { readClaimed } from './read-claimed.js'
import { release } from './release.js'

const CLAIM = defineStatement<SessionRow>(
  'claim',
  `WITH unflushed AS (
  SELECT set_config('synchronous_commit', 'off', true)
), head AS (
  UPDATE session_head h SET
    epoch = h.epoch + 1,
    claims = h.claims + 1,
    owner = $2,
    lease_until = clock_timestamp() + $3 * interval '1 millisecond',
    wake_at = CASE WHEN h.claims = 0 THEN h.wake_at ELSE clock_timestamp() + $3 * interval '1 millisecond' + ${pauseAfter('h.claims')} END
  FROM unflushed, session a
  WHERE h.session_id = $1 AND a.id = $1 AND a.agent_name = ANY($4::text[])
    AND h.open AND h.wake_at <= clock_timestamp() AND (h.lease_until IS NULL OR h.lease_until < clock_timestamp())
  RETURNING h.session_id, h.epoch, h.revision, h.inbox, h.control, h.claims
)${SELECT_SESSION}`,
)

export async function claim(database: Database, sessionId: SessionId, options: ClaimOptions): Promise<Session | 'not-due'> {
  const { owner, ttlMs } = options
  const [row] = await database.query(CLAIM, [toText(sessionId), toText(owner), ttlMs, options.agents.map(toText)])
  if (row === undefined) return 'not-due'
  const lease = { sessionId, owner, epoch: row.epoch }
  const fresh = isFresh(row) ? row : await readClaimed(database, lease)
  if (fresh === null) return 'not-due'
  if (!isReadable(fresh)) {
    await release(database, [lease], 'unused')
    return 'not-due'
  }
  return toSession(sessionId, owner, fresh)
}
