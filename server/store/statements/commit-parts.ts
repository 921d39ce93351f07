/**
 * The rows that a commit writes beside the head, one common table expression each. Every part takes one JSON parameter, names the
 * rows by their key and hangs on `head`, so that nothing is written when the head did not match. $1 is the session.
 *
 * A commit is made of the parts that it needs; which ones is its shape, and the letters of the shape are part of the prepared
 * statement's name.
 *
 * Rows are found by their id alone. That they are the session's is tested in words that no index can serve, IS NOT DISTINCT FROM: a plan
 * that is made while the tables are small, and kept while they grow, would as soon go through all rows that the session ever had.
 */
import { CHECKPOINT_VERSION, type Checkpoint } from '../../session/checkpoint.js'
import type {
  ClosedStep,
  ClosedTurn,
  Commit,
  SessionChange,
  SettledDelivery,
  StepRow,
  TurnRow,
  TurnStatusChange,
} from '../../session/commit.js'
import { HISTORY_VERSION } from '../../session/history.js'
import type { SessionFacts } from '../../session/session.js'
import { NO_USAGE } from '../../session/usage.js'
import { CALL_CHANGE, CALL_RECORD, toCallChange, toCallRecord } from '../call-row.js'
import { EVENT_RECORD, EVENT_VERSION } from '../event-row.js'
import { toJson, toMoment, type SafeText } from '../json-column.js'
import type { CommitPart } from './commit-part.js'
import { toRequestParts, toTurnStatusPart } from './commit-request-parts.js'

/** Always in the same order: equal shapes have equal texts. `events` are the commit's, as records. */
export function toParts(commit: Commit, events: SafeText, facts: SessionFacts): readonly CommitPart[] {
  const { openedTurn, openedStep, closedStep, turnStatus } = commit
  // A turn that was cancelled before it began is opened and closed at once: one row.
  const closedTurn = commit.closedTurn?.id === openedTurn?.id ? null : commit.closedTurn
  const parts: CommitPart[] = [
    commit.state === null
      ? { letter: 'c', sql: updateCheckpoint, value: toJson(toCheckpointRecord(commit.checkpoint)) }
      : { letter: 'w', sql: updateState, value: toJson({ ...toCheckpointRecord(commit.checkpoint), state: commit.state }) },
  ]
  if (commit.session !== null) parts.push({ letter: 's', sql: updateSession, value: toSessionRecord(commit.session) })
  if (openedTurn !== null) {
    parts.push({
      letter: 't',
      sql: insertTurn,
      value: toTurnRecord(openedTurn, closedTurn === null ? commit.closedTurn : null, turnStatus),
    })
  }
  if (turnStatus !== null && turnStatus.id !== openedTurn?.id && turnStatus.id !== closedTurn?.id) parts.push(toTurnStatusPart(turnStatus))
  if (closedTurn !== null) parts.push({ letter: 'q', sql: closeTurn, value: toJson({ id: closedTurn.id, ...toTurnEnd(closedTurn) }) })
  if (openedStep?.attempt === 1) parts.push({ letter: 'o', sql: insertStep, value: toStepRecord(openedStep) })
  else if (openedStep !== null) parts.push({ letter: 'a', sql: reopenStep, value: toStepRecord(openedStep) })
  if (closedStep !== null) parts.push({ letter: 'x', sql: closeStep, value: toStepEnd(closedStep) })
  if (commit.newCalls.length > 0) parts.push({ letter: 'n', sql: insertCalls, value: toJson(commit.newCalls.map(toCallRecord)) })
  if (commit.changedCalls.length > 0) parts.push({ letter: 'u', sql: updateCalls, value: toJson(commit.changedCalls.map(toCallChange)) })
  parts.push(...toRequestParts(commit, facts))
  if (commit.settled.length > 0) parts.push({ letter: 'd', sql: settleDeliveries, value: toJson(commit.settled.map(toSettledRecord)) })
  if (commit.history.length > 0) parts.push({ letter: 'h', sql: insertHistory, value: toHistoryRecord(commit) })
  if (commit.newEpoch !== null) parts.push({ letter: 'k', sql: insertEpoch, value: toJson(commit.newEpoch) })
  if (commit.events.length > 0) parts.push({ letter: 'e', sql: insertEvents, value: events })
  return parts
}

function updateCheckpoint(parameter: string): string {
  return `checkpoint_row AS (
  UPDATE checkpoint SET revision = head.revision, version = x.version, open_step_id = x.open_step_id, body = x.body
  FROM head, json_to_record(${parameter}::json) AS x(version int, open_step_id text, body jsonb)
  WHERE checkpoint.session_id = $1)`
}

/** The checkpoint with the author's state, which few commits change. */
function updateState(parameter: string): string {
  return `checkpoint_row AS (
  UPDATE checkpoint SET revision = head.revision, version = x.version, open_step_id = x.open_step_id, body = x.body, state = x.state
  FROM head, json_to_record(${parameter}::json) AS x(version int, open_step_id text, body jsonb, state jsonb)
  WHERE checkpoint.session_id = $1)`
}

function toCheckpointRecord(checkpoint: Checkpoint): object {
  const { phase } = checkpoint
  return { version: CHECKPOINT_VERSION, open_step_id: phase.kind === 'acting' ? phase.step.id : null, body: checkpoint }
}

function updateSession(parameter: string): string {
  return `session_row AS (
  UPDATE session SET status = x.status, usage = x.usage, updated_at = ${toMoment('x.at')}, end_reason = x.end_reason, error = x.error,
    ended_at = CASE WHEN x.end_reason IS NOT NULL THEN ${toMoment('x.at')} END,
    expires_at = CASE WHEN x.end_reason IS NULL THEN GREATEST(${toMoment('x.expires_at')}, session.expires_at) END
  FROM head, json_to_record(${parameter}::json) AS x(status "SessionStatus", usage jsonb, at float8, expires_at float8, end_reason "SessionEndReason", error jsonb)
  WHERE session.id = $1)`
}

function toSessionRecord({ status, usage, at, expiresAt, end }: SessionChange): SafeText {
  return toJson({ status, usage, at, expires_at: expiresAt, end_reason: end?.reason, error: end?.error })
}

const TURN_END = 'status "TurnStatus", output text, error jsonb, usage jsonb, active_ms int, ended_at float8'

function toTurnEnd(turn: ClosedTurn): object {
  const { status, output, error, usage, activeMs } = turn
  return { status, output, error, usage, active_ms: Math.round(activeMs), ended_at: turn.endedAt }
}

function insertTurn(parameter: string): string {
  return `opened_turn AS (
  INSERT INTO turn (id, session_id, number, trigger, principal, user_input, started_at, status, output, error, usage, active_ms, ended_at)
  SELECT x.id, head.session_id, x.number, x.trigger, x.principal, x.user_input, ${toMoment('x.started_at')},
    x.status, x.output, x.error, x.usage, x.active_ms, ${toMoment('x.ended_at')}
  FROM head, json_to_record(${parameter}::json) AS x(id text, number int, trigger "TurnTrigger", principal jsonb, user_input text,
    started_at float8, ${TURN_END}))`
}

function toTurnRecord(turn: TurnRow, end: ClosedTurn | null, waits: TurnStatusChange | null): SafeText {
  const { id, number, trigger, principal, userInput, startedAt } = turn
  const ending = end === null ? { status: waits?.status ?? 'RUNNING', usage: NO_USAGE } : toTurnEnd(end)
  return toJson({ id, number, trigger, principal, user_input: userInput, started_at: startedAt, ...ending })
}

function closeTurn(parameter: string): string {
  return `closed_turn AS (
  UPDATE turn SET status = x.status, output = x.output, error = x.error, usage = x.usage, active_ms = x.active_ms,
    ended_at = ${toMoment('x.ended_at')}
  FROM head, json_to_record(${parameter}::json) AS x(${TURN_END})
  WHERE turn.id = (${parameter}::json ->> 'id') AND turn.session_id IS NOT DISTINCT FROM $1)`
}

/** The first attempt. */
function insertStep(parameter: string): string {
  return `opened_step AS (
  INSERT INTO step (id, session_id, turn_id, index, attempt, status, model, started_at)
  SELECT x.id, head.session_id, x.turn_id, x.index, x.attempt, 'RUNNING', x.model, ${toMoment('x.started_at')}
  FROM head, json_to_record(${parameter}::json) AS x(id text, turn_id text, index int, attempt int, model text, started_at float8))`
}

/** A later attempt: the row begins anew. */
function reopenStep(parameter: string): string {
  return `opened_step AS (
  UPDATE step SET attempt = x.attempt, status = 'RUNNING', model = x.model, started_at = ${toMoment('x.started_at')},
    text = NULL, reasoning = NULL, finish_reason = NULL, usage = NULL, error = NULL, ended_at = NULL
  FROM head, json_to_record(${parameter}::json) AS x(attempt int, model text, started_at float8)
  WHERE step.id = (${parameter}::json ->> 'id') AND step.session_id IS NOT DISTINCT FROM $1)`
}

function toStepRecord({ id, turnId, index, attempt, model, startedAt }: StepRow): SafeText {
  return toJson({ id, turn_id: turnId, index, attempt, model, started_at: startedAt })
}

function closeStep(parameter: string): string {
  return `closed_step AS (
  UPDATE step SET status = x.status, text = x.text, reasoning = x.reasoning, finish_reason = x.finish_reason, usage = x.usage,
    error = x.error, ended_at = ${toMoment('x.ended_at')}
  FROM head, json_to_record(${parameter}::json) AS x(status "StepStatus", text text, reasoning text, finish_reason "FinishReason",
    usage jsonb, error jsonb, ended_at float8)
  WHERE step.id = (${parameter}::json ->> 'id') AND step.session_id IS NOT DISTINCT FROM $1)`
}

function toStepEnd({ id, status, text, reasoning, usage, error, finishReason, endedAt }: ClosedStep): SafeText {
  return toJson({ id, status, text, reasoning, usage, error, finish_reason: finishReason, ended_at: endedAt })
}

function insertCalls(parameter: string): string {
  return `new_calls AS (
  INSERT INTO tool_call (session_id, id, turn_id, step_id, step_index, "order", name, label, input, raw_input, status, started_at, output,
    result_text, error, truncated_bytes, ended_at)
  SELECT head.session_id, x.id, x.turn_id, x.step_id, x.step_index, x."order", x.name, x.label, COALESCE(x.input, 'null'), x.raw_input, x.status,
    ${toMoment('x.started_at')}, x.output, x.result_text, x.error, x.truncated_bytes, ${toMoment('x.ended_at')}
  FROM head, json_to_recordset(${parameter}::json) AS x(${CALL_RECORD}))`
}

// PostgreSQL takes a record set for a hundred rows and might rather read a whole small table; the array makes it go by the keys.
function updateCalls(parameter: string): string {
  return `changes AS (
  SELECT * FROM json_to_recordset(${parameter}::json) AS x(${CALL_CHANGE})
), changed_calls AS (
  UPDATE tool_call SET status = x.status, started_at = ${toMoment('x.started_at')}, output = x.output, result_text = x.result_text,
    error = x.error, truncated_bytes = x.truncated_bytes, ended_at = ${toMoment('x.ended_at')}
  FROM head, changes x
  WHERE tool_call.id = ANY(ARRAY(SELECT id FROM changes)) AND tool_call.id = x.id AND tool_call.session_id IS NOT DISTINCT FROM $1)`
}

function settleDeliveries(parameter: string): string {
  return `outcomes AS (
  SELECT * FROM json_to_recordset(${parameter}::json) AS x(id text, status "DeliveryStatus", turn_id text, rejection jsonb, at float8)
), settled AS (
  UPDATE delivery SET status = x.status, turn_id = x.turn_id, rejection = x.rejection, settled_at = ${toMoment('x.at')}
  FROM head, outcomes x
  WHERE delivery.id = ANY(ARRAY(SELECT id FROM outcomes)) AND delivery.id = x.id AND delivery.session_id IS NOT DISTINCT FROM $1)`
}

function toSettledRecord(delivery: SettledDelivery): object {
  const { id, status, rejection } = delivery
  return { id, status, rejection, turn_id: delivery.turnId, at: delivery.at }
}

function insertHistory(parameter: string): string {
  return `history_rows AS (
  INSERT INTO history (session_id, epoch, position, version, item)
  SELECT head.session_id, x.epoch, x.first + h.ordinal - 1, ${HISTORY_VERSION}, h.item
  FROM head, json_to_record(${parameter}::json) AS x(epoch int, first int, items jsonb),
    jsonb_array_elements(x.items) WITH ORDINALITY AS h(item, ordinal))`
}

function toHistoryRecord({ history, historyFrom: { epoch, position } }: Commit): SafeText {
  return toJson({ epoch, first: position, items: history })
}

function insertEpoch(parameter: string): string {
  return `epoch_row AS (
  INSERT INTO history_epoch (session_id, epoch, kind, created_at)
  SELECT head.session_id, x.epoch, x.kind, ${toMoment('x.at')}
  FROM head, json_to_record(${parameter}::json) AS x(epoch int, kind "HistoryEpochKind", at float8))`
}

/** $4 is the number of events, of which the head's `last_seq` is the last. */
function insertEvents(parameter: string): string {
  return `event_rows AS (
  INSERT INTO event (session_id, position, type, turn_id, step_index, attempt, ends_write, version, data, at)
  SELECT head.session_id, head.last_seq - $4 + x.ordinal, x.type, x.turn_id, x.step_index, x.attempt, x.ordinal = $4, ${EVENT_VERSION}, x.data,
    ${toMoment('x.at')}
  FROM head, ROWS FROM (json_to_recordset(${parameter}::json) AS (${EVENT_RECORD})) WITH ORDINALITY
    AS x(type, turn_id, step_index, attempt, data, at, ordinal))`
}
