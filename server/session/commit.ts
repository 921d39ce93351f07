/**
 * A Commit: everything that one transaction writes because of one outcome (R1). Each row is named at most once, so that the
 * store can write all of it in one statement. What a commit holds does not grow with the session's length.
 */
import type { Failure, Json } from '../errors.js'
import type { CallId, DeliveryId, RequestId, StepId, TurnId } from '../ids.js'
import type { Checkpoint } from './checkpoint.js'
import type { CallOutcome, DeliveryOutcome, NewEvent, SessionEndReason, TurnTrigger } from './events.js'
import type { HistoryItem } from './history.js'
import type { FinishReason } from './model.js'
import type { Principal } from './principal.js'
import type { RecordedAnswer, Request, RequestOutcome } from './requests.js'
import type { SessionState } from './state.js'
import type { SessionStatus } from './status.js'
import type { TokenUsage } from './usage.js'

/**
 * What must not have arrived unseen (R4). `control`: no cancel, clear or end; for commits that start an effect or end a turn.
 * `inbox`: no delivery at all; for commits that park or end the session, and for those that open or settle requests.
 */
export type Guard = 'none' | 'control' | 'inbox'

export interface Commit {
  readonly checkpoint: Checkpoint
  readonly guard: Guard
  readonly events: readonly NewEvent[]
  /** Appended from `historyFrom` on. */
  readonly history: readonly HistoryItem[]
  readonly historyFrom: HistoryPlace
  /** An epoch of the history that begins with this commit: the checkpoint's. */
  readonly newEpoch: HistoryEpochRow | null
  readonly openedTurn: TurnRow | null
  readonly closedTurn: ClosedTurn | null
  /** Nothing of the turn runs any more, or something does again; null: it stays as it is. */
  readonly turnStatus: TurnStatusChange | null
  readonly openedStep: StepRow | null
  readonly closedStep: ClosedStep | null
  readonly newCalls: readonly CallRow[]
  /** Whole rows; only status, startedAt and result differ from what is stored. */
  readonly changedCalls: readonly CallRow[]
  readonly newRequests: readonly Request[]
  readonly settledRequests: readonly SettledRequest[]
  /** Tools that are allowed for the rest of the session. */
  readonly grants: readonly Grant[]
  readonly settled: readonly SettledDelivery[]
  /** All of the author's state as it is from now on; null: as it was. */
  readonly state: SessionState | null
  readonly session: SessionChange | null
  /** Give the lease back; `wakeAt` is when to look again, null: when something arrives. */
  readonly park: { readonly wakeAt: number | null } | null
}

export interface HistoryPlace {
  readonly epoch: number
  readonly position: number
}
export interface HistoryEpochRow {
  readonly epoch: number
  readonly kind: 'CLEAR' | 'COMPACT'
  readonly at: number
}
export interface TurnRow {
  readonly id: TurnId
  readonly number: number
  readonly trigger: TurnTrigger
  readonly principal: Principal
  readonly userInput: string
  readonly startedAt: number
}
export interface ClosedTurn {
  readonly id: TurnId
  readonly status: 'COMPLETED' | 'FAILED' | 'CANCELLED'
  readonly output: string | null
  readonly error: Failure | null
  readonly usage: TokenUsage
  readonly activeMs: number
  readonly endedAt: number
}
export interface TurnStatusChange {
  readonly id: TurnId
  readonly status: 'RUNNING' | 'WAITING'
}
/** A step as it begins; a later attempt of the same step replaces the row. */
export interface StepRow {
  readonly id: StepId
  readonly turnId: TurnId
  readonly index: number
  readonly attempt: number
  readonly model: string
  readonly startedAt: number
}
export interface ClosedStep {
  readonly id: StepId
  readonly status: 'COMPLETED' | 'FAILED' | 'INTERRUPTED'
  readonly text: string | null
  readonly reasoning: string | null
  readonly finishReason: FinishReason | null
  readonly usage: TokenUsage | null
  readonly error: Failure | null
  readonly endedAt: number
}
export interface CallRow {
  readonly id: CallId
  readonly turnId: TurnId
  readonly stepId: StepId
  readonly stepIndex: number
  /** Order of the call in its step, from 0. */
  readonly order: number
  readonly name: string
  readonly label: string | null
  readonly input: Json
  /** The arguments as the model wrote them, when they are not valid JSON. */
  readonly rawInput: string | null
  readonly status: 'REQUESTED' | 'WAITING_FOR_APPROVAL' | 'WAITING' | 'RUNNING' | CallOutcome
  readonly startedAt: number | null
  readonly result: CallResult | null
}
export interface CallResult {
  readonly output: Json
  /** What the model reads. */
  readonly text: string
  readonly error: Failure | null
  /** Bytes of the output that were cut away before it was stored; 0: none. */
  readonly truncatedBytes: number
  readonly endedAt: number
}
export interface SettledRequest {
  readonly id: RequestId
  readonly status: RequestOutcome
  readonly answer: RecordedAnswer | null
  readonly at: number
}
/** Also when it is there already. */
export interface Grant {
  readonly tool: string
  readonly to: Principal
  readonly request: RequestId
  readonly at: number
}
export interface SettledDelivery {
  readonly id: DeliveryId
  readonly status: DeliveryOutcome
  readonly turnId: TurnId | null
  readonly rejection: Failure | null
  readonly at: number
}
export interface SessionChange {
  readonly status: SessionStatus
  readonly usage: TokenUsage
  readonly at: number
  /** A turn ended, and the idle window begins anew; null: it stays as it is. */
  readonly expiresAt: number | null
  readonly end: { readonly reason: SessionEndReason; readonly error: Failure | null } | null
}
