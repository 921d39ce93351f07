/** The rows of people in the loop that a commit writes: requests opened and settled, tools allowed for the rest of the session. */
import type { Commit, Grant, TurnStatusChange } from '../../session/commit.js'
import type { SessionFacts } from '../../session/session.js'
import { toJson, toMoment } from '../json-column.js'
import { REQUEST_END, REQUEST_RECORD, toRequestEnd, toRequestRecord } from '../request-row.js'
import type { CommitPart } from './commit-part.js'

/** Few commits have any. */
export function toRequestParts({ newRequests, settledRequests, grants }: Commit, facts: SessionFacts): readonly CommitPart[] {
  if (newRequests.length === 0 && settledRequests.length === 0) return []
  const parts: CommitPart[] = []
  if (newRequests.length > 0) {
    parts.push({ letter: 'r', sql: insertRequests, value: toJson(newRequests.map((request) => toRequestRecord(request, facts))) })
  }
  if (settledRequests.length > 0) parts.push({ letter: 'v', sql: settleRequests, value: toJson(settledRequests.map(toRequestEnd)) })
  if (grants.length > 0) parts.push({ letter: 'g', sql: insertGrants, value: toJson(grants.map(toGrantRecord)) })
  return parts
}

function insertRequests(parameter: string): string {
  return `new_requests AS (
  INSERT INTO request (id, session_id, tenant, agent_name, turn_id, tool_call_id, kind, status, prompt, details, input_hash, reviewers,
    answerable_by, opened_after, created_at, expires_at)
  SELECT x.id, head.session_id, x.tenant, x.agent_name, x.turn_id, x.tool_call_id, x.kind, 'PENDING', x.prompt, x.details, x.input_hash,
    ARRAY(SELECT jsonb_array_elements_text(x.reviewers)), ARRAY(SELECT jsonb_array_elements_text(x.answerable_by)), x.opened_after,
    ${toMoment('x.created_at')}, ${toMoment('x.expires_at')}
  FROM head, json_to_recordset(${parameter}::json) AS x(${REQUEST_RECORD}))`
}

function settleRequests(parameter: string): string {
  return `request_ends AS (
  SELECT * FROM json_to_recordset(${parameter}::json) AS x(${REQUEST_END})
), settled_requests AS (
  UPDATE request SET status = x.status, answer = x.answer, settled_at = ${toMoment('x.at')}
  FROM head, request_ends x
  WHERE request.id = ANY(ARRAY(SELECT id FROM request_ends)) AND request.id = x.id AND request.session_id IS NOT DISTINCT FROM $1)`
}

function insertGrants(parameter: string): string {
  return `grant_rows AS (
  INSERT INTO approval_grant (session_id, tool, principal_id, principal_kind, request_id, granted_at)
  SELECT head.session_id, x.tool, x.principal_id, x.principal_kind, x.request_id, ${toMoment('x.at')}
  FROM head, json_to_recordset(${parameter}::json) AS x(tool text, principal_id text, principal_kind "PrincipalKind", request_id text, at float8)
  ON CONFLICT DO NOTHING)`
}

function toGrantRecord({ tool, to, request, at }: Grant): object {
  return { tool, principal_id: to.id, principal_kind: to.kind, request_id: request, at }
}

/** Nothing of the turn runs any more, or something does again. */
export function toTurnStatusPart(change: TurnStatusChange): CommitPart {
  return { letter: 'y', sql: updateTurnStatus, value: toJson(change) }
}

function updateTurnStatus(parameter: string): string {
  return `turn_status AS (
  UPDATE turn SET status = (${parameter}::json ->> 'status')::"TurnStatus"
  FROM head WHERE turn.id = (${parameter}::json ->> 'id') AND turn.session_id IS NOT DISTINCT FROM $1)`
}
