/**
 * The facts of a session's log. A recorded event has a position, dense within its session; the cursor is that position.
 *
 * Rules (held by test/support/check-log.ts on the log of every session that a test ran):
 * - E1 Everything opened is closed once: turn, step attempt, block, call, delivery.
 * - E2 The end of a session is the last event of its log.
 * - E3 The events of one commit are contiguous, in the order of the facts.
 * - E4 STEP_RETRYING and STEP_INTERRUPTED retract the blocks that their attempt left unfinished.
 */
import type { Failure, Json } from '../errors.js'
import type { BlockId, CallId, DeliveryId, RequestId, SessionId, TurnId } from '../ids.js'
import type { FinishReason } from './model.js'
import type { Principal } from './principal.js'
import type { AnswerValue, ApprovalDecision, RequestOption, RequestOutcome } from './requests.js'
import type { TokenUsage } from './usage.js'

export type InterruptReason = 'WORKER_LOST' | 'STEERED' | 'CANCELLED' | 'TIMED_OUT'
export type SessionEndReason = 'ENDED' | 'TIMEOUT' | 'TASK_FINISHED' | 'STRANDED' | 'FAULT' | 'PARENT_ENDED'
export type TurnTrigger = 'MESSAGE' | 'HISTORY' | 'SCHEDULE' | 'TASK' | 'PARENT'
export type WaitReason = 'INPUT' | 'APPROVAL' | 'AUTHORIZATION' | 'TASKS' | 'TIMER'
/** How a call that was asked for ended. */
export type CallOutcome = 'COMPLETED' | 'FAILED' | 'DENIED' | 'CANCELLED' | 'ABANDONED'
export type DeliveryOutcome = 'APPLIED' | 'REJECTED'

interface SessionEnd {
  readonly reason: SessionEndReason
  readonly error: Failure | null
  readonly usage: TokenUsage
}
interface TurnEnd {
  readonly output: string | null
  readonly error: Failure | null
  readonly reason: string | null
  readonly usage: TokenUsage
  readonly latencyMs: number
}
interface Opened {
  readonly request: RequestId
  /** The call that it is about; null: the turn. */
  readonly callId: CallId | null
  readonly prompt: string
  /** Empty: whom the turn serves. */
  readonly reviewers: readonly string[]
  readonly expiresAt: number | null
}
interface Resolved {
  readonly request: RequestId
  readonly by: Principal | null
  /** In the words of who answered, or why nobody did. */
  readonly reason: string | null
}
export type AuthorizationOutcome = 'AUTHORIZED' | 'DECLINED' | 'FAILED' | 'TIMED_OUT'
interface Delta {
  /** UTF-16 code units of the same block (or call) before this piece. */
  readonly offset: number
  readonly text: string
}

/** What each type of event carries beside the envelope. The key is the type; GraphQL has one object type for each. */
export interface EventFields {
  SESSION_STARTED: { readonly agent: string; readonly deployment: string; readonly predecessor: SessionId | null }
  SESSION_WAITING: { readonly usage: TokenUsage }
  SESSION_COMPLETED: SessionEnd
  SESSION_FAILED: SessionEnd
  SESSION_CANCELLED: SessionEnd
  CONTEXT_CLEARED: Readonly<Record<string, never>>
  TURN_STARTED: {
    readonly number: number
    readonly deliveries: readonly DeliveryId[]
    readonly trigger: TurnTrigger
    readonly principal: Principal
  }
  TURN_WAITING: { readonly on: WaitReason }
  TURN_RESUMED: { readonly cause: string }
  TURN_COMPLETED: TurnEnd
  TURN_FAILED: TurnEnd
  TURN_CANCELLED: TurnEnd
  MESSAGE_RECEIVED: { readonly delivery: DeliveryId; readonly text: string; readonly by: Principal }
  DELIVERY_SETTLED: {
    readonly delivery: DeliveryId
    readonly status: DeliveryOutcome
    readonly turn: TurnId | null
    readonly reason: string | null
  }
  STEP_STARTED: { readonly model: string }
  STEP_COMPLETED: { readonly finishReason: FinishReason; readonly usage: TokenUsage | null }
  STEP_RETRYING: { readonly error: Failure; readonly delayMs: number }
  STEP_INTERRUPTED: { readonly reason: InterruptReason }
  STEP_FAILED: { readonly error: Failure }
  LLM_CHUNK: Delta & { readonly blockId: BlockId }
  LLM_REASONING: Delta & { readonly blockId: BlockId }
  LLM_TOOL_INPUT: Delta & { readonly callId: CallId; readonly name: string }
  MESSAGE_COMPLETED: {
    readonly blockId: BlockId
    readonly text: string
    readonly finishReason: FinishReason | null
    readonly interrupted: boolean
  }
  REASONING_COMPLETED: { readonly blockId: BlockId; readonly text: string; readonly interrupted: boolean }
  APPROVAL_REQUESTED: Opened & { readonly name: string; readonly input: Json }
  /** `by` is null when nobody decided in time. */
  APPROVAL_RESOLVED: Resolved & { readonly outcome: RequestOutcome; readonly decision: ApprovalDecision }
  APPROVAL_CANCELLED: { readonly request: RequestId; readonly reason: string }
  INPUT_REQUESTED: Opened & {
    readonly kind: 'QUESTION' | 'LIMIT'
    readonly options: readonly RequestOption[]
    readonly minSelections: number
    readonly maxSelections: number
    readonly allowsText: boolean
  }
  INPUT_RESOLVED: Resolved & Pick<AnswerValue, 'optionIds' | 'text' | 'json'> & { readonly outcome: RequestOutcome }
  AUTHORIZATION_REQUIRED: Opened & { readonly url: string | null }
  AUTHORIZATION_COMPLETED: Resolved & { readonly outcome: AuthorizationOutcome }
  TOOL_CALL_REQUESTED: {
    readonly callId: CallId
    readonly name: string
    readonly label: string | null
    readonly input: Json
    readonly inputError: string | null
  }
  TOOL_CALL_START: { readonly callId: CallId; readonly name: string }
  TOOL_CALL_PROGRESS: { readonly callId: CallId; readonly output: Json }
  TOOL_CALL_END: {
    readonly callId: CallId
    readonly name: string
    readonly status: CallOutcome
    readonly output: Json
    readonly error: Failure | null
    readonly durationMs: number | null
  }
}
export type EventType = keyof EventFields

/** The name of each type outside GraphQL: plain SSE, webhooks. */
export const WIRE_NAMES = {
  SESSION_STARTED: 'session.started',
  SESSION_WAITING: 'session.waiting',
  SESSION_COMPLETED: 'session.completed',
  SESSION_FAILED: 'session.failed',
  SESSION_CANCELLED: 'session.cancelled',
  CONTEXT_CLEARED: 'context.cleared',
  TURN_STARTED: 'turn.started',
  TURN_WAITING: 'turn.waiting',
  TURN_RESUMED: 'turn.resumed',
  TURN_COMPLETED: 'turn.completed',
  TURN_FAILED: 'turn.failed',
  TURN_CANCELLED: 'turn.cancelled',
  MESSAGE_RECEIVED: 'message.received',
  DELIVERY_SETTLED: 'delivery.settled',
  STEP_STARTED: 'step.started',
  STEP_COMPLETED: 'step.completed',
  STEP_RETRYING: 'step.retrying',
  STEP_INTERRUPTED: 'step.interrupted',
  STEP_FAILED: 'step.failed',
  LLM_CHUNK: 'llm.chunk',
  LLM_REASONING: 'llm.reasoning',
  LLM_TOOL_INPUT: 'llm.tool_input',
  MESSAGE_COMPLETED: 'message.completed',
  REASONING_COMPLETED: 'reasoning.completed',
  APPROVAL_REQUESTED: 'approval.requested',
  APPROVAL_RESOLVED: 'approval.resolved',
  APPROVAL_CANCELLED: 'approval.cancelled',
  INPUT_REQUESTED: 'input.requested',
  INPUT_RESOLVED: 'input.resolved',
  AUTHORIZATION_REQUIRED: 'authorization.required',
  AUTHORIZATION_COMPLETED: 'authorization.completed',
  TOOL_CALL_REQUESTED: 'tool_call.requested',
  TOOL_CALL_START: 'tool_call.start',
  TOOL_CALL_PROGRESS: 'tool_call.progress',
  TOOL_CALL_END: 'tool_call.end',
} as const satisfies Readonly<Record<EventType, string>>
export type WireName<Type extends EventType = EventType> = (typeof WIRE_NAMES)[Type]
export const EVENT_TYPES: readonly EventType[] = Object.keys(WIRE_NAMES).filter(isEventType)

function isEventType(name: string): name is EventType {
  return name in WIRE_NAMES
}

/** Streamed while a step runs, between commits; removed some time after the turn's end, when their completed event holds the truth. */
export const STREAMED_TYPES = ['LLM_CHUNK', 'LLM_REASONING', 'LLM_TOOL_INPUT', 'TOOL_CALL_PROGRESS'] as const
export type StreamedType = (typeof STREAMED_TYPES)[number]
/** The last event of a log is one of these (E2). */
export const TERMINAL_TYPES = ['SESSION_COMPLETED', 'SESSION_FAILED', 'SESSION_CANCELLED'] as const

interface Envelope {
  /** Wall clock of the process that recorded it, milliseconds since 1970. */
  readonly at: number
  readonly turnId: TurnId | null
  readonly stepIndex: number | null
  /** The attempt of the step that this belongs to, from 1; null outside a step. */
  readonly attempt: number | null
}

type FactOf<Type extends EventType> = { readonly [T in Type]: { readonly type: T; readonly data: EventFields[T] } }[Type]
/** What happened. */
export type EventFact = FactOf<EventType>
export type StreamedFact = FactOf<StreamedType>
/** An event before it has a position. */
export type NewEvent = Envelope & EventFact
export type StreamedEvent = Envelope & StreamedFact

interface Placed {
  readonly sessionId: SessionId
  readonly position: number
  /** True for the last event of the commit or append that wrote it: where a reader may cut. */
  readonly endsWrite: boolean
}
export type RecordedEvent = NewEvent & Placed
