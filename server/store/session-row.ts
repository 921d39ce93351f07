/** A session as a claim reads it, and what became of it since the statement's snapshot. */
import type { Json } from '../errors.js'
import type { SessionId, WorkerId } from '../ids.js'
import { CHECKPOINT_VERSION } from '../session/checkpoint.js'
import { decodeCheckpoint } from '../session/decode-checkpoint.js'
import type { PrincipalKind } from '../session/principal.js'
import type { Session, SessionMode } from '../session/session.js'
import type { SessionState } from '../session/state.js'
import type { SessionStatus } from '../session/status.js'
import { selectCalls, toCall, type CallRecord } from './call-row.js'
import { selectDeliveries, toDelivery, type DeliveryRow } from './delivery-row.js'
import { toPrincipal } from './principal-row.js'
import { selectRequests, toRequest, type RequestRecord } from './request-row.js'

export interface SessionRow {
  readonly epoch: number
  readonly revision: number
  readonly inbox: number
  readonly control: number
  readonly claims: number
  readonly agent_name: string
  readonly mode: SessionMode
  readonly tenant: string
  readonly owner_id: string
  readonly owner_kind: PrincipalKind
  readonly owner_name: string | null
  readonly deployment: string
  readonly metadata: { readonly [key: string]: Json }
  readonly title: string | null
  readonly idle_timeout_ms: number | null
  readonly expires_at: number | null
  readonly status: SessionStatus
  readonly checkpoint_revision: number
  readonly version: number
  readonly body: unknown
  readonly state: SessionState
  /** Position of the newest delivery, settled or not. */
  readonly newest: number
  readonly deliveries: readonly DeliveryRow[]
  readonly calls: readonly CallRecord[]
  readonly requests: readonly RequestRecord[]
}

/** Reads everything of one session beside `head(session_id, epoch, revision, inbox, control, claims)`. */
export const SELECT_SESSION = `
SELECT head.epoch, head.revision, head.inbox, head.control, head.claims,
  s.agent_name, s.mode, s.tenant, s.owner_id, s.owner_kind, s.owner_name, s.deployment, s.metadata, s.title, s.idle_timeout_ms::float8 AS idle_timeout_ms,
  (extract(epoch FROM s.expires_at) * 1000)::float8 AS expires_at, s.status,
  c.revision AS checkpoint_revision, c.version, c.body, c.state,
  COALESCE((SELECT max(n.position) FROM delivery n WHERE n.session_id = head.session_id), 0) AS newest,
  ${selectDeliveries('head.session_id', '0')} AS deliveries,
  ${selectCalls('c.open_step_id')} AS calls,
  ${selectRequests('head.session_id')} AS requests
FROM head JOIN session s ON s.id = head.session_id JOIN checkpoint c ON c.session_id = head.session_id`

/** False when the rows beside the head are older than it: the statement had waited for its lock. */
export function isFresh(row: SessionRow): boolean {
  return row.checkpoint_revision === row.revision && row.newest === row.inbox
}

/** False for a checkpoint that a newer release wrote. */
export function isReadable(row: SessionRow): boolean {
  return row.version <= CHECKPOINT_VERSION
}

export function toSession(id: SessionId, owner: WorkerId, row: SessionRow): Session {
  const { tenant } = row
  return {
    facts: {
      id,
      agent: row.agent_name,
      mode: row.mode,
      tenant,
      owner: toPrincipal(tenant, { id: row.owner_id, kind: row.owner_kind, name: row.owner_name }),
      deployment: row.deployment,
      idleTimeoutMs: row.idle_timeout_ms,
      metadata: row.metadata,
      title: row.title,
    },
    lease: { sessionId: id, owner, epoch: row.epoch },
    revision: row.revision,
    status: row.status,
    checkpoint: decodeCheckpoint(row.version, row.body),
    deliveries: row.deliveries.map((delivery) => toDelivery(tenant, delivery)),
    inbox: row.inbox,
    control: row.control,
    expiresAt: row.expires_at,
    calls: new Map(row.calls.map((call) => [call.id, toCall(call)])),
    requests: row.requests.map(toRequest),
    claims: row.claims,
    state: row.state,
  }
}
