/** A request between its row and its value. What belongs to its kind is kept as one JSON value. */
import type { CallId, RequestId, TurnId } from '../ids.js'
import type { SettledRequest } from '../session/commit.js'
import { answerableBy, type Request } from '../session/requests.js'
import type { SessionFacts } from '../session/session.js'

type Details = Pick<Request, 'options' | 'minSelections' | 'maxSelections' | 'allowsText' | 'onExpire' | 'grants' | 'url' | 'served'>
export interface RequestRecord {
  readonly id: RequestId
  readonly turnId: TurnId
  readonly callId: CallId | null
  readonly kind: Request['kind']
  readonly prompt: string
  readonly details: Details
  readonly inputHash: string | null
  readonly reviewers: readonly string[]
  readonly openedAfter: number
  readonly openedAt: number
  readonly expiresAt: number | null
}

/** The open requests of a session, in the order they were opened, as a JSON array. `session` is an SQL expression. */
export function selectRequests(session: string): string {
  return `COALESCE((
    SELECT json_agg(json_build_object(
      'id', r.id, 'turnId', r.turn_id, 'callId', r.tool_call_id, 'kind', r.kind, 'prompt', r.prompt, 'details', r.details,
      'inputHash', r.input_hash, 'reviewers', r.reviewers, 'openedAfter', r.opened_after,
      'openedAt', (extract(epoch FROM r.created_at) * 1000)::bigint, 'expiresAt', (extract(epoch FROM r.expires_at) * 1000)::bigint) ORDER BY r.id)
    FROM request r WHERE r.session_id = ${session} AND r.status = 'PENDING'), '[]')`
}

export function toRequest({ details, ...record }: RequestRecord): Request {
  return { ...record, ...details }
}

export const REQUEST_RECORD = `id text, tenant text, agent_name text, turn_id text, tool_call_id text, kind "RequestKind", prompt text, details jsonb,
    input_hash text, reviewers jsonb, answerable_by jsonb, opened_after int, created_at float8, expires_at float8`

export function toRequestRecord(request: Request, { tenant, agent }: SessionFacts): object {
  const { options, minSelections, maxSelections, allowsText, onExpire, grants, url, served } = request
  const details: Details = { options, minSelections, maxSelections, allowsText, onExpire, grants, url, served }
  return {
    id: request.id,
    tenant,
    agent_name: agent,
    turn_id: request.turnId,
    tool_call_id: request.callId,
    kind: request.kind,
    prompt: request.prompt,
    details,
    input_hash: request.inputHash,
    reviewers: request.reviewers,
    answerable_by: answerableBy(request),
    opened_after: request.openedAfter,
    created_at: request.openedAt,
    expires_at: request.expiresAt,
  }
}

export const REQUEST_END = `id text, status "RequestStatus", answer jsonb, at float8`

export function toRequestEnd({ id, status, answer, at }: SettledRequest): object {
  return { id, status, answer: answer ?? undefined, at }
}
