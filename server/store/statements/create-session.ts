/**
 * create-session: a session with everything that stands from its beginning: head, checkpoint, imported history, addresses, first
 * delivery, key.
 * In: the key, and one record of everything. Out: the row of the key when it had been used, else a row without one.
 *
 * What decides a race is the primary key of `idempotency` and of `address`: the loser's statement fails as a whole and it looks
 * again. The look at the key in the statement itself only spares that.
 */
import { PerdureError } from '../../errors.js'
import type { SessionId } from '../../ids.js'
import { CHECKPOINT_VERSION, NEW_CHECKPOINT_PHASE, type Checkpoint } from '../../session/checkpoint.js'
import { isControl } from '../../session/deliveries.js'
import { HISTORY_VERSION } from '../../session/history.js'
import type { CreateOutcome, NewSession } from '../../session/acceptance.js'
import { NO_USAGE } from '../../session/usage.js'
import { defineStatement, isDeadlock, isTaken, type Database } from '../database.js'
import { toJson, toMoment, toText, toTextOrNull, type SafeText } from '../json-column.js'
import { toDeliveryRecord } from './deliver.js'
import { findHolders } from './find-address.js'
import { findKey, toDuplicate, type KeyRow } from './find-key.js'

/** How often racing callers look again. */
const MAX_LOOKS = 5

/** Null: it may be idle for ever. */
const IDLE = "idle_timeout_ms * interval '1 millisecond'"

const CREATE_SESSION = defineStatement<{ [Column in keyof KeyRow]: KeyRow[Column] | null }>(
  'create-session',
  `WITH used AS (
  SELECT session_id, delivery_id, hash FROM idempotency
  WHERE tenant = $1 AND principal_id = $2 AND principal_kind = $3::"PrincipalKind" AND key = $4
), new AS (
  SELECT x.*, ${toMoment('x.created_at')} AS at FROM json_to_record($6::json) AS x(id text, tenant text, mode "SessionMode", idle_timeout_ms bigint, owner_id text, owner_kind "PrincipalKind", owner_name text, agent text, title text, metadata jsonb, deployment text, usage jsonb,
    created_at float8, status "SessionStatus", version int, body jsonb, history jsonb, history_version int, addresses jsonb, delivery jsonb,
    control int)
  WHERE NOT EXISTS (SELECT FROM used)
), session_row AS (
  INSERT INTO session (id, tenant, owner_id, owner_kind, owner_name, agent_name, mode, status, title, metadata, deployment, usage, idle_timeout_ms, expires_at, created_at, updated_at)
  SELECT id, tenant, owner_id, owner_kind, owner_name, agent, mode, status, title, metadata, deployment, usage, idle_timeout_ms, at + ${IDLE}, at, at FROM new
), head_row AS (
  INSERT INTO session_head (session_id, inbox, control, wake_at)
  SELECT id, CASE WHEN delivery IS NULL THEN 0 ELSE 1 END, control, clock_timestamp() + CASE WHEN delivery IS NULL THEN ${IDLE} ELSE interval '0' END FROM new
), checkpoint_row AS (
  INSERT INTO checkpoint (session_id, revision, version, body) SELECT id, 0, version, body FROM new
), epoch_row AS (
  INSERT INTO history_epoch (session_id, epoch, kind, created_at) SELECT id, 0, 'START', at FROM new
), history_rows AS (
  INSERT INTO history (session_id, epoch, position, version, item)
  SELECT new.id, 0, h.ordinal - 1, new.history_version, h.item
  FROM new, jsonb_array_elements(new.history) WITH ORDINALITY AS h(item, ordinal)
), delivery_row AS (
  INSERT INTO delivery (id, session_id, position, kind, policy, by_id, by_kind, by_name, content, accepted_at)
  SELECT d.id, new.id, 1, d.kind, d.policy, d.by_id, d.by_kind, d.by_name, d.content, ${toMoment('d.accepted_at')}
  FROM new, jsonb_to_record(new.delivery) AS d(id text, kind "DeliveryKind", policy "TurnPolicy", by_id text, by_kind "PrincipalKind",
    by_name text, content jsonb, accepted_at float8)
  WHERE new.delivery IS NOT NULL
), address_rows AS (
  INSERT INTO address (tenant, address, session_id, claimed_at)
  SELECT new.tenant, a.address, new.id, new.at FROM new, jsonb_array_elements_text(new.addresses) AS a(address) ORDER BY a.address
), key_row AS (
  INSERT INTO idempotency (tenant, principal_id, principal_kind, key, hash, session_id, delivery_id, created_at)
  SELECT $1, $2, $3::"PrincipalKind", $4, $5, id, delivery ->> 'id', at FROM new WHERE $4 IS NOT NULL
)
SELECT used.session_id, used.delivery_id, used.hash FROM (SELECT 1) AS one LEFT JOIN used ON true`,
)

export async function createSession(database: Database, session: NewSession): Promise<CreateOutcome> {
  for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
    const outcome = await insertSession(database, session)
    if (outcome !== 'taken') return outcome
    const winner = await findWinner(database, session)
    if (winner !== null) return winner
  }
  throw new PerdureError('BUSY', `session ${session.id} could not be created: others kept winning its address or key; try again`)
}

async function insertSession(database: Database, session: NewSession): Promise<CreateOutcome | 'taken'> {
  const { idempotency: key } = session
  const by = key?.by ?? session.owner
  const values = [toText(by.tenant), toText(by.id), toText(by.kind), toTextOrNull(key?.key), toTextOrNull(key?.hash), toRecord(session)]
  try {
    const [row] = await database.query(CREATE_SESSION, values)
    return toOutcome(session, row)
  } catch (thrown) {
    if (isTaken(thrown, 'address_pkey') || isTaken(thrown, 'idempotency_pkey') || isDeadlock(thrown)) return 'taken'
    throw thrown
  }
}

function toOutcome(session: NewSession, row: { [Column in keyof KeyRow]: KeyRow[Column] | null } | undefined): CreateOutcome {
  if (session.idempotency !== null && row !== undefined && row.session_id !== null) {
    return toDuplicate(session.idempotency, { session_id: row.session_id, delivery_id: row.delivery_id, hash: row.hash ?? '' })
  }
  return { kind: 'created', sessionId: session.id, deliveryId: session.firstDelivery?.id ?? null }
}

/** Null when whoever won is gone again. */
async function findWinner(database: Database, session: NewSession): Promise<CreateOutcome | null> {
  const first = session.idempotency === null ? null : await findKey(database, session.idempotency)
  if (first !== null) return first
  const holders = new Map<string, SessionId>()
  for (const row of await findHolders(database, session.owner.tenant, session.addresses)) holders.set(row.address, row.session_id)
  for (const address of session.addresses) {
    const holder = holders.get(toText(address))
    if (holder !== undefined) return { kind: 'address-taken', address, holder }
  }
  return null
}

function toRecord(session: NewSession): SafeText {
  const { firstDelivery } = session
  const checkpoint: Checkpoint = {
    turns: 0,
    historyEpoch: 0,
    historyLength: session.history.length,
    usage: NO_USAGE,
    phase: NEW_CHECKPOINT_PHASE,
  }
  return toJson({
    id: session.id,
    tenant: session.owner.tenant,
    owner_id: session.owner.id,
    owner_kind: session.owner.kind,
    agent: session.agent,
    mode: session.mode,
    idle_timeout_ms: session.idleTimeoutMs,
    owner_name: session.owner.name,
    title: session.title,
    metadata: session.metadata,
    deployment: session.deployment,
    usage: NO_USAGE,
    created_at: session.createdAt,
    status: firstDelivery?.content.kind === 'MESSAGE' ? 'RUNNING' : 'CREATED',
    version: CHECKPOINT_VERSION,
    body: checkpoint,
    history: session.history,
    history_version: HISTORY_VERSION,
    addresses: [...new Set(session.addresses.map(toText))],
    delivery: firstDelivery === null ? undefined : toDeliveryRecord(firstDelivery),
    control: firstDelivery !== null && isControl(firstDelivery.content.kind) ? 1 : 0,
  })
}
