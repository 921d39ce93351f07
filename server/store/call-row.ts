/** A tool call between its row and its value. */
import type { Failure, Json } from '../errors.js'
import type { CallId, StepId, TurnId } from '../ids.js'
import type { CallRow } from '../session/commit.js'

export interface CallRecord {
  readonly id: CallId
  readonly turnId: TurnId
  readonly stepId: StepId
  readonly stepIndex: number
  readonly order: number
  readonly name: string
  readonly label: string | null
  readonly input: Json
  readonly rawInput: string | null
  readonly status: CallRow['status']
  readonly startedAt: number | null
  readonly output: Json
  readonly text: string | null
  readonly error: Failure | null
  readonly truncatedBytes: number
  readonly endedAt: number | null
}

/** The calls of a step, in order, as a JSON array. `step` is an SQL expression. */
export function selectCalls(step: string): string {
  return `COALESCE((
    SELECT json_agg(json_build_object(
      'id', t.id, 'turnId', t.turn_id, 'stepId', t.step_id, 'stepIndex', t.step_index, 'order', t."order", 'name', t.name,
      'label', t.label, 'input', t.input, 'rawInput', t.raw_input, 'status', t.status,
      'startedAt', (extract(epoch FROM t.started_at) * 1000)::bigint, 'output', t.output, 'text', t.result_text, 'error', t.error,
      'truncatedBytes', t.truncated_bytes, 'endedAt', (extract(epoch FROM t.ended_at) * 1000)::bigint) ORDER BY t."order")
    FROM tool_call t WHERE t.step_id = ${step}), '[]')`
}

export function toCall(record: CallRecord): CallRow {
  const { output, text, error, truncatedBytes, endedAt, ...call } = record
  return { ...call, result: endedAt === null ? null : { output, text: text ?? '', error, truncatedBytes, endedAt } }
}

export const CALL_RECORD = `id text, turn_id text, step_id text, step_index int, "order" int, name text, label text, input jsonb, raw_input text,
    status "ToolCallStatus", started_at float8, output jsonb, result_text text, error jsonb, truncated_bytes int, ended_at float8`

export function toCallRecord(call: CallRow): object {
  return {
    id: call.id,
    turn_id: call.turnId,
    step_id: call.stepId,
    step_index: call.stepIndex,
    order: call.order,
    name: call.name,
    label: call.label,
    input: call.input,
    raw_input: call.rawInput,
    ...toCallChange(call),
  }
}

export const CALL_CHANGE = `id text, status "ToolCallStatus", started_at float8, output jsonb, result_text text, error jsonb,
    truncated_bytes int, ended_at float8`

/** What may change of a call once it is written. */
export function toCallChange(call: CallRow): object {
  const { result } = call
  return {
    id: call.id,
    status: call.status,
    started_at: call.startedAt,
    output: result?.output,
    result_text: result?.text,
    error: result?.error,
    truncated_bytes: result?.truncatedBytes ?? 0,
    ended_at: result?.endedAt,
  }
}
