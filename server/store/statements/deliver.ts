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
import type { SessionId } from '../../ids.js'
import { isControl } from '../../session/deliveries.js'
import type { DeliverOutcome, IdempotencyKey, NewDelivery } from '../../session/acceptance.js'
import type { SessionStatus } from '../../session/status.js'
import { defineStatement, isTaken, type Database } from '../database.js'
import { toJson, toMoment, toText, toTextOrNull, type SqlValue } from '../json-column.js'
import { findKey, toDuplicate, type KeyRow } from './find-key.js'

/** How often racing callers look again. */
const MAX_LOOKS = 5

interface DeliverRow {
  readonly session_id: KeyRow['session_id'] | null
  readonly delivery_id: KeyRow['delivery_id']
  readonly hash: string | null
  readonly status: SessionStatus | null
  readonly position: number | null
  readonly found: boolean
}

const DELIVER = defineStatement<DeliverRow>(
  'deliver',
  `WITH used AS (
  SELECT session_id, delivery_id, hash FROM idempotency
  WHERE tenant = $2 AND principal_id = $3 AND principal_kind = $4::"PrincipalKind" AND key = $5
), head AS (
  UPDATE session_head SET
    inbox = inbox + 1,
    control = CASE WHEN $7::boolean THEN inbox + 1 ELSE control END,
    wake_at = LEAST(wake_at, clock_timestamp())
  WHERE session_id = $1 AND open AND NOT EXISTS (SELECT FROM used)
  RETURNING session_id, inbox, turn_id
), delivery_row AS (
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
)
SELECT used.session_id, used.delivery_id, used.hash, session_row.status, session_row.inbox AS position,
  EXISTS (SELECT FROM session_head WHERE session_head.session_id = $1) AS found
FROM (SELECT 1) AS one LEFT JOIN used ON true LEFT JOIN session_row ON true`,
)

export async function deliver(
  database: Database,
  sessionId: SessionId,
  delivery: NewDelivery,
  key: IdempotencyKey | null,
): Promise<DeliverOutcome> {
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const outcome = await deliverOnce(database, sessionId, delivery, key)
    if (outcome !== 'taken') return outcome
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
    const [row] = await database.query(DELIVER, toValues(sessionId, delivery, key))
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
  return first ?? { kind: row?.found === true ? 'ended' : 'not-found' }
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
