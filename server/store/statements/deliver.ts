/**
 * deliver: puts a delivery into a session's inbox (R1's first door).
 * In: session, the key, the delivery. Out: one row: the key's first effect when it had been used; the session's status and the position
 * when the delivery was accepted; whether there is such a session at all.
 *
 * All of it hangs on `head`, the UPDATE that takes the session's lock: position, control and the open turn come from there. Rows of
 * other tables are as old as the statement's start, so the session row is found by id alone and its new status is an expression,
 * which PostgreSQL computes on the newest version. Two callers with one key collide on the primary key of `idempotency`.
 */
import { PerdureError } from '../../errors.js'
import type { RequestId, SessionId } from '../../ids.js'
import { isControl, type AnswersContent } from '../../session/deliveries.js'
import type { DeliverOutcome, IdempotencyKey, NewDelivery } from '../../session/acceptance.js'
import type { SessionStatus } from '../../session/status.js'
import { defineStatement, isTaken, type Database } from '../database.js'
import { toJson, toMoment, toText, toTextOrNull, type SqlValue } from '../json-column.js'
import { findKey, toDuplicate, type KeyRow } from './find-key.js'
import { pruneKeys } from './prune-keys.js'

/** How often racing callers look again. */
const MAX_LOOKS = 5
const PRUNE_EVERY = 256

interface DeliverRow {
  readonly session_id: KeyRow['session_id'] | null
  readonly delivery_id: KeyRow['delivery_id']
  readonly hash: string | null
  readonly status: SessionStatus | null
  readonly position: number | null
  readonly found: boolean
}

const USED_KEY = `used AS (
  SELECT session_id, delivery_id, hash FROM idempotency
  WHERE tenant = $2 AND principal_id = $3 AND principal_kind = $4::"PrincipalKind" AND key = $5
)`
/** What hangs on the head. */
const ROWS = `delivery_row AS (
  INSERT INTO delivery (id, session_id, position, kind, policy, by_id, by_kind, by_name, content, open_turn_id, accepted_at)
  SELECT d.id, head.session_id, head.inbox, d.kind, d.policy, d.by_id, d.by_kind, d.by_name, d.content, head.turn_id,
    ${toMoment('d.accepted_at')}
  FROM head, json_to_record($8::json) AS d(id text, kind "DeliveryKind", policy "TurnPolicy", by_id text, by_kind "PrincipalKind", by_name text,
    content jsonb, accepted_at float8)
  RETURNING id, kind, accepted_at
), key_row AS (
  INSERT INTO idempotency (tenant, principal_id, principal_kind, key, hash, session_id, delivery_id, created_at)
  SELECT $2, $3, $4::"PrincipalKind", $5, $6, head.session_id, delivery_row.id, delivery_row.accepted_at
  FROM head, delivery_row WHERE $5 IS NOT NULL
), session_row AS (
  UPDATE session SET
    status = CASE
      WHEN delivery_row.kind = 'MESSAGE' AND session.status IN ('CREATED', 'IDLE', 'HIBERNATED') THEN 'RUNNING' ELSE session.status END,
    updated_at = delivery_row.accepted_at,
    expires_at = GREATEST(session.expires_at, delivery_row.accepted_at + session.idle_timeout_ms * interval '1 millisecond')
  FROM head, delivery_row WHERE session.id = head.session_id
  RETURNING session.status, head.inbox
)`
const RESULT = `SELECT used.session_id, used.delivery_id, used.hash, session_row.status, session_row.inbox AS position,
  EXISTS (SELECT FROM session_head WHERE session_head.session_id = $1) AS found
FROM (SELECT 1) AS one LEFT JOIN used ON true LEFT JOIN session_row ON true`

const DELIVER = defineStatement<DeliverRow>(
  'deliver',
  `WITH ${USED_KEY}, head AS (
  UPDATE session_head SET
    inbox = inbox + 1,
    control = CASE WHEN $7::boolean THEN inbox + 1 ELSE control END,
    wake_at = LEAST(wake_at, clock_timestamp())
  WHERE session_id = $1 AND open AND NOT EXISTS (SELECT FROM used)
  RETURNING session_id, inbox, turn_id
), ${ROWS}
${RESULT}`,
)

/**
 * The same for answers, which hold their requests: all of them or none. `locked` waits for the session's lock first; the rows of the
 * requests are found by their ids alone (commit-parts.ts says why) and locked after it, and PostgreSQL tests on their newest versions that
 * they are open. The commit that settles a request takes the two locks in the same order.
 */
const DELIVER_ANSWERS = defineStatement<DeliverRow>(
  'deliver-answers',
  `WITH ${USED_KEY}, locked AS (
  SELECT session_id FROM session_head WHERE session_id = $1 AND open AND NOT EXISTS (SELECT FROM used) FOR NO KEY UPDATE
), asked AS (
  SELECT request.id FROM request, locked
  WHERE request.id = ANY($9::text[]) AND request.session_id IS NOT DISTINCT FROM locked.session_id
    AND request.status IS NOT DISTINCT FROM 'PENDING'
    AND request.reserved_by IS NULL AND (request.expires_at IS NULL OR request.expires_at > clock_timestamp())
  FOR NO KEY UPDATE OF request
), head AS (
  UPDATE session_head SET
    inbox = inbox + 1,
    control = CASE WHEN $7::boolean THEN inbox + 1 ELSE control END,
    wake_at = LEAST(wake_at, clock_timestamp())
  WHERE session_id = $1 AND open AND (SELECT count(*) FROM asked) = cardinality($9::text[])
  RETURNING session_id, inbox, turn_id
), ${ROWS}, reserved AS (
  UPDATE request SET reserved_by = delivery_row.id FROM delivery_row WHERE request.id = ANY(ARRAY(SELECT id FROM asked))
)
${RESULT}`,
)

export async function deliver(
  database: Database,
  sessionId: SessionId,
  delivery: NewDelivery,
  key: IdempotencyKey | null,
): Promise<DeliverOutcome> {
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const outcome = await deliverOnce(database, sessionId, delivery, key)
    if (outcome === 'taken') continue
    // What was accepted is accepted, whether or not old keys could be forgotten: the next time does it.
    await pruneSometimes(database, outcome, key).catch(() => undefined)
    return outcome
  }
  throw new PerdureError('BUSY', `the delivery to session ${sessionId} kept colliding with others of the same key; try again`)
}

async function deliverOnce(
  database: Database,
  sessionId: SessionId,
  delivery: NewDelivery,
  key: IdempotencyKey | null,
): Promise<DeliverOutcome | 'taken'> {
  try {
    const { content } = delivery
    const values = toValues(sessionId, delivery, key)
    const [row] =
      content.kind === 'ANSWERS'
        ? await database.query(DELIVER_ANSWERS, [...values, content.answers.map(({ requestId }) => toText(requestId))])
        : await database.query(DELIVER, values)
    return await toOutcome(database, row, { sessionId, delivery, key })
  } catch (thrown) {
    if (isTaken(thrown, 'idempotency_pkey')) return 'taken'
    throw thrown
  }
}

async function toOutcome(
  database: Database,
  row: DeliverRow | undefined,
  asked: { readonly sessionId: SessionId; readonly delivery: NewDelivery; readonly key: IdempotencyKey | null },
): Promise<DeliverOutcome> {
  const { sessionId, delivery, key } = asked
  if (row !== undefined && key !== null && row.session_id !== null) {
    return toDuplicate(key, { session_id: row.session_id, delivery_id: row.delivery_id, hash: row.hash ?? '' })
  }
  if (row !== undefined && row.status !== null && row.position !== null) {
    return { kind: 'accepted', sessionId, deliveryId: delivery.id, position: row.position, status: row.status }
  }
  // The key was looked up before the lock was waited for: its first effect may have come, and the session's end, meanwhile.
  const first = key === null ? null : await findKey(database, key)
  if (first !== null) return first
  const { content } = delivery
  return content.kind === 'ANSWERS' && row?.found === true
    ? explain(database, sessionId, content)
    : { kind: row?.found === true ? 'ended' : 'not-found' }
}

const FIND_CLOSED = defineStatement<{ readonly open: boolean; readonly closed: readonly RequestId[] }>(
  'find-closed-requests',
  `SELECT h.open, ARRAY(
  SELECT r.id FROM request r WHERE r.id = ANY($2::text[]) AND r.session_id = h.session_id
    AND (r.status <> 'PENDING' OR r.reserved_by IS NOT NULL OR r.expires_at <= clock_timestamp())) AS closed
FROM session_head h WHERE h.session_id = $1`,
)

/** Why answers were not accepted. Requests that are none of the session's are not found. */
async function explain(database: Database, sessionId: SessionId, { answers }: AnswersContent): Promise<DeliverOutcome> {
  const asked = answers.map(({ requestId }) => toText(requestId))
  const [row] = await database.query(FIND_CLOSED, [toText(sessionId), asked])
  if (row === undefined || row.closed.length === 0) return { kind: row?.open === false ? 'ended' : 'not-found' }
  return row.open ? { kind: 'not-pending', requests: row.closed } : { kind: 'ended' }
}

/** Keys are forgotten where they are made: at every so many deliveries of a session. */
async function pruneSometimes(database: Database, outcome: DeliverOutcome, key: IdempotencyKey | null): Promise<void> {
  if (key === null || outcome.kind !== 'accepted' || outcome.position % PRUNE_EVERY !== 0) return
  await pruneKeys(database, outcome.sessionId)
}

function toValues(sessionId: SessionId, delivery: NewDelivery, key: IdempotencyKey | null): readonly SqlValue[] {
  const { by } = key ?? delivery
  return [
    toText(sessionId),
    toText(by.tenant),
    toText(by.id),
    toText(by.kind),
    toTextOrNull(key?.key),
    toTextOrNull(key?.hash),
    isControl(delivery.content.kind),
    toJson(toDeliveryRecord(delivery)),
  ]
}

export function toDeliveryRecord(delivery: NewDelivery): object {
  const { by, content } = delivery
  return {
    id: delivery.id,
    kind: content.kind,
    policy: content.kind === 'MESSAGE' ? content.policy : undefined,
    by_id: by.id,
    by_kind: by.kind,
    by_name: by.name,
    content,
    accepted_at: delivery.acceptedAt,
  }
}
