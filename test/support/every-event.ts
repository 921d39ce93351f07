/** One recorded event of each type, with something in each of its fields. */
import { storedId } from '../../server/ids.js'
import { EVENT_TYPES, type EventFields, type RecordedEvent } from '../../server/session/events.js'
import { sessionNamed } from './log-store.js'

const FAILURE = { code: 'STEP_FAILED', message: 'It failed.', retryable: true, details: { tries: 3 } }
const USAGE = { promptTokens: 1, completionTokens: 2, cacheTokens: null, reasoningTokens: 0, costUsd: null, incomplete: false }
const ANN = { tenant: 'default', id: 'ann', kind: 'USER', name: 'Ann' } as const
const [TURN, DELIVERY, BLOCK, CALL, REQUEST] = [
  storedId('turn', 'turn_1'),
  storedId('dlv', 'dlv_1'),
  storedId('blk', 'blk_1'),
  storedId('call', 'call_1'),
  storedId('req', 'req_1'),
]
const SESSION_END = { reason: 'ENDED', error: FAILURE, usage: USAGE } as const
const TURN_END = { output: 'Done.', error: null, reason: 'asked to', usage: USAGE, latencyMs: 12 }
const PIECE = { blockId: BLOCK, offset: 3, text: 'a "piece" \u2028' }
const OPENED = { request: REQUEST, callId: CALL, prompt: 'Allow it?', reviewers: ['role:manager'], expiresAt: Date.UTC(2026, 0, 2) }
const RESOLVED = { request: REQUEST, by: ANN, reason: 'a regular' }
const OPTION = { id: 'option-1', label: 'Red', description: null }

const FIELDS: { readonly [Type in keyof EventFields]: EventFields[Type] } = {
  SESSION_STARTED: { agent: 'hello', deployment: 'one', predecessor: null },
  SESSION_WAITING: { usage: USAGE },
  SESSION_COMPLETED: SESSION_END,
  SESSION_FAILED: SESSION_END,
  SESSION_CANCELLED: { ...SESSION_END, error: null },
  CONTEXT_CLEARED: {},
  TURN_STARTED: { number: 1, deliveries: [DELIVERY], trigger: 'MESSAGE', principal: ANN },
  TURN_WAITING: { on: 'INPUT' },
  TURN_RESUMED: { cause: 'answered' },
  TURN_COMPLETED: TURN_END,
  TURN_FAILED: { ...TURN_END, error: FAILURE },
  TURN_CANCELLED: TURN_END,
  MESSAGE_RECEIVED: { delivery: DELIVERY, text: 'Hello', by: ANN },
  DELIVERY_SETTLED: { delivery: DELIVERY, status: 'APPLIED', turn: TURN, reason: null },
  STEP_STARTED: { model: 'scripted' },
  STEP_COMPLETED: { finishReason: 'STOP', usage: null },
  STEP_RETRYING: { error: FAILURE, delayMs: 100 },
  STEP_INTERRUPTED: { reason: 'STEERED' },
  STEP_FAILED: { error: FAILURE },
  LLM_CHUNK: PIECE,
  LLM_REASONING: PIECE,
  LLM_TOOL_INPUT: { callId: CALL, name: 'clock', offset: 0, text: '{}' },
  MESSAGE_COMPLETED: { blockId: BLOCK, text: 'Hello', finishReason: 'STOP', interrupted: false },
  REASONING_COMPLETED: { blockId: BLOCK, text: 'Well', interrupted: true },
  APPROVAL_REQUESTED: { ...OPENED, name: 'refund', input: { order: 1042 } },
  APPROVAL_RESOLVED: { ...RESOLVED, outcome: 'ANSWERED', decision: 'APPROVE' },
  APPROVAL_CANCELLED: { request: REQUEST, reason: 'superseded' },
  INPUT_REQUESTED: {
    ...OPENED,
    expiresAt: null,
    kind: 'QUESTION',
    options: [OPTION],
    minSelections: 0,
    maxSelections: 1,
    allowsText: true,
  },
  INPUT_RESOLVED: { ...RESOLVED, outcome: 'ANSWERED', optionIds: [OPTION.id], text: '', json: false },
  AUTHORIZATION_REQUIRED: { ...OPENED, callId: null, url: 'https://example.com/sign-in' },
  AUTHORIZATION_COMPLETED: { ...RESOLVED, outcome: 'TIMED_OUT', by: null },
  TOOL_CALL_REQUESTED: { callId: CALL, name: 'clock', label: 'Looks', input: { zone: ['UTC'] }, inputError: null },
  TOOL_CALL_START: { callId: CALL, name: 'clock' },
  TOOL_CALL_PROGRESS: { callId: CALL, output: [1, { two: null }] },
  TOOL_CALL_END: { callId: CALL, name: 'clock', status: 'COMPLETED', output: { hour: 12 }, error: null, durationMs: 5 },
}

export const EVERY_EVENT: readonly RecordedEvent[] = EVENT_TYPES.map((type, index) => {
  const scope = { turnId: TURN, stepIndex: 0, attempt: index % 2 === 0 ? 1 : null }
  const place = { sessionId: sessionNamed('every'), position: index + 1, endsWrite: true, at: Date.UTC(2026, 0, 1) }
  return { ...scope, ...place, type, data: FIELDS[type] } as RecordedEvent
})
