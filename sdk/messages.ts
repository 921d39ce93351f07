/**
 * The conversation as a fold of the session's events, for showing it: user messages, and one assistant message a step with its
 * parts. Pure: a state and an event give the next state, the same object when nothing changed.
 *
 * - M1 Idempotent: what was folded before changes nothing in the end, so that a snapshot may overlap with the events that follow it.
 * - M2 Convergent: streamed pieces are a preview. The event that completes a block, or requests a call, carries the whole and decides
 *   the place among the finished parts; who missed pieces, or joined in their middle, ends with the same state.
 * - M3 A piece adds what lies beyond the end of its block, and only without a hole, in the attempt that runs; it may come again, alone
 *   or joined with the next one.
 * - M4 The end of an attempt takes back what it left unfinished (STEP_RETRYING, STEP_INTERRUPTED).
 * - M5 A clear starts the conversation over (CONTEXT_CLEARED).
 */
import type { SessionEventType } from './generated/operations.js'
import type { Failure, SessionEndReason, SessionEvent, TokenUsage, WaitReason } from './generated/session-events.js'
import type { AskedRequest, AssistantMessage, Message } from './message.js'
import { askOfCall, close, closeOfCall, isOpen, toAskedRequest, type RequestClosed, type RequestOpened } from './reduce-request.js'
import { reduceStep } from './reduce-step.js'

export interface TurnState {
  readonly id: string
  /** Null when its start was not among the events. */
  readonly number: number | null
  readonly status: 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  /** What a waiting turn waits for. */
  readonly waitingOn: WaitReason | null
  /** What the turn itself asked people, last: whether to go on over a budget. What is asked about a call is at its part. */
  readonly request: AskedRequest | null
  readonly error: Failure | null
  readonly reason: string | null
  readonly usage: TokenUsage | null
}

export interface MessagesState {
  readonly messages: readonly Message[]
  /** In the order they began. */
  readonly turns: readonly TurnState[]
  /** How the session ended; null while it is open. */
  readonly end: {
    readonly status: 'completed' | 'failed' | 'cancelled'
    readonly reason: SessionEndReason
    readonly error: Failure | null
  } | null
}

/** What the fold looks at: a subscription for it needs no other types. */
export const MESSAGE_EVENT_TYPES = [
  'SESSION_COMPLETED',
  'SESSION_FAILED',
  'SESSION_CANCELLED',
  'CONTEXT_CLEARED',
  'TURN_STARTED',
  'TURN_WAITING',
  'TURN_RESUMED',
  'TURN_COMPLETED',
  'TURN_FAILED',
  'TURN_CANCELLED',
  'MESSAGE_RECEIVED',
  'STEP_STARTED',
  'STEP_COMPLETED',
  'STEP_RETRYING',
  'STEP_INTERRUPTED',
  'STEP_FAILED',
  'LLM_CHUNK',
  'LLM_REASONING',
  'LLM_TOOL_INPUT',
  'MESSAGE_COMPLETED',
  'REASONING_COMPLETED',
  'APPROVAL_REQUESTED',
  'APPROVAL_RESOLVED',
  'APPROVAL_CANCELLED',
  'INPUT_REQUESTED',
  'INPUT_RESOLVED',
  'AUTHORIZATION_REQUIRED',
  'AUTHORIZATION_COMPLETED',
  'TOOL_CALL_REQUESTED',
  'TOOL_CALL_START',
  'TOOL_CALL_PROGRESS',
  'TOOL_CALL_END',
] as const satisfies readonly SessionEventType[]

const NOTHING: MessagesState = { messages: [], turns: [], end: null }

/** Before the first event. */
export function initialMessages(): MessagesState {
  return NOTHING
}

/** The conversation of a session's events, e.g. of a query, oldest first; go on with `reduceMessages` and what follows. */
export function toMessages(events: Iterable<SessionEvent>): MessagesState {
  let state = NOTHING
  for (const event of events) state = reduceMessages(state, event)
  return state
}

/** The state after an event. Types that the conversation does not show, and those of a newer server, change nothing. */
export function reduceMessages(state: MessagesState, event: SessionEvent): MessagesState {
  switch (event.type) {
    case 'MESSAGE_RECEIVED': {
      if (state.messages.some((message) => message.role === 'user' && message.id === event.delivery)) return state
      const { delivery: id, turnId, text, by, at } = event
      return { ...state, messages: [...state.messages, { role: 'user', id, turnId, text, by, at }] }
    }
    case 'TURN_STARTED':
      return changeTurn(state, event.turnId, (turn) => (turn.number === null ? { ...turn, number: event.number } : turn))
    case 'TURN_WAITING':
      return changeTurn(state, event.turnId, (turn) => ({ ...turn, status: 'waiting', waitingOn: event.on }))
    case 'TURN_RESUMED':
      return changeTurn(state, event.turnId, (turn) => ({ ...turn, status: 'running', waitingOn: null }))
    case 'TURN_COMPLETED':
    case 'TURN_FAILED':
    case 'TURN_CANCELLED': {
      const { error, reason, usage } = event
      return changeTurn(state, event.turnId, (turn) => ({ ...turn, status: TURN_ENDS[event.type], waitingOn: null, error, reason, usage }))
    }
    case 'SESSION_COMPLETED':
    case 'SESSION_FAILED':
    case 'SESSION_CANCELLED':
      return state.end === null ? { ...state, end: { status: SESSION_ENDS[event.type], reason: event.reason, error: event.error } } : state
    case 'CONTEXT_CLEARED':
      return state.messages.length + state.turns.length === 0 ? state : { ...NOTHING, end: state.end }
    case 'APPROVAL_REQUESTED':
    case 'INPUT_REQUESTED':
    case 'AUTHORIZATION_REQUIRED':
      return openRequest(state, event)
    case 'APPROVAL_RESOLVED':
    case 'APPROVAL_CANCELLED':
    case 'INPUT_RESOLVED':
    case 'AUTHORIZATION_COMPLETED':
      return closeRequest(state, event)
    default:
      return changeStep(state, event)
  }
}

const TURN_ENDS = { TURN_COMPLETED: 'completed', TURN_FAILED: 'failed', TURN_CANCELLED: 'cancelled' } as const
const SESSION_ENDS = { SESSION_COMPLETED: 'completed', SESSION_FAILED: 'failed', SESSION_CANCELLED: 'cancelled' } as const

/** A turn that has ended stays as it ended (M1). */
function changeTurn(state: MessagesState, id: string | null, change: (turn: TurnState) => TurnState): MessagesState {
  if (id === null) return state
  const at = state.turns.findIndex((turn) => turn.id === id)
  const turn = state.turns[at]
  if (turn === undefined) return { ...state, turns: [...state.turns, change(newTurn(id))] }
  if (turn.status !== 'running' && turn.status !== 'waiting') return state
  const changed = change(turn)
  return changed === turn ? state : { ...state, turns: state.turns.with(at, changed) }
}

function newTurn(id: string): TurnState {
  return { id, number: null, status: 'running', waitingOn: null, request: null, error: null, reason: null, usage: null }
}

function openRequest(state: MessagesState, event: RequestOpened): MessagesState {
  const request = toAskedRequest(event)
  if (event.callId !== null) return withMessages(state, askOfCall(state.messages, event.callId, request))
  return changeTurn(state, event.turnId, (turn) => (turn.request?.id === request.id ? turn : { ...turn, request }))
}

function closeRequest(state: MessagesState, event: RequestClosed): MessagesState {
  const at = state.turns.findIndex(({ request }) => isOpen(request, event))
  const turn = state.turns[at]
  if (turn === undefined) return withMessages(state, closeOfCall(state.messages, event))
  return { ...state, turns: state.turns.with(at, { ...turn, request: close(turn.request, event) }) }
}

function withMessages(state: MessagesState, messages: readonly Message[]): MessagesState {
  return messages === state.messages ? state : { ...state, messages }
}

function changeStep(state: MessagesState, event: SessionEvent): MessagesState {
  const { turnId, stepIndex, attempt } = event
  if (turnId === null || stepIndex === null || attempt === null) return state
  const id = `${turnId}/${stepIndex}`
  const at = state.messages.findLastIndex((message) => message.id === id)
  const message = state.messages[at]
  const known = message?.role === 'assistant' ? message : null
  const before = known ?? newAssistantMessage(id, { turnId, stepIndex, attempt, at: event.at })
  const changed = reduceStep(before, event)
  if (changed === before && (known !== null || event.type !== 'STEP_STARTED')) return state
  return { ...state, messages: known === null ? [...state.messages, changed] : state.messages.with(at, changed) }
}

type NewMessage = Pick<AssistantMessage, 'turnId' | 'stepIndex' | 'attempt' | 'at'>

function newAssistantMessage(id: string, fields: NewMessage): AssistantMessage {
  return { role: 'assistant', id, ...fields, status: 'running', parts: [], finishReason: null, usage: null, error: null }
}
