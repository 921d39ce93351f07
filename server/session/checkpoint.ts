/**
 * The control state of a session after a commit: small, versioned, a tagged union of phases. Fields that mean something only
 * in one phase live in that arm. History, inputs and outputs are rows of their own; here are only the numbers and names that
 * decide what the session owes the world next (see next.ts).
 *
 * A worker that claims a session finds exactly this. What was in flight when the last worker died is told from `epoch`: a
 * model call or a started tool of an older epoch is nobody's (R2), and recovery settles it (R3).
 */
import type { CallId, DeliveryId, RequestId, StepId, TurnId } from '../ids.js'
import type { SessionEndReason } from './events.js'
import type { Principal } from './principal.js'
import type { TokenUsage } from './usage.js'

/** Raised with every change that older code cannot read; decode-checkpoint.ts reads every older one. */
export const CHECKPOINT_VERSION = 3

export interface Checkpoint {
  /** Turns begun so far; the next one's number is one more. */
  readonly turns: number
  readonly historyEpoch: number
  /** Rows of history in this epoch: the position of the next one. */
  readonly historyLength: number
  readonly usage: TokenUsage
  /** What had been used when somebody let it go on over its budget: counted from there. Missing: nobody had to. */
  readonly allowedFrom?: TokenUsage
  readonly phase: Phase
}

export type Phase =
  | { readonly kind: 'created' }
  | { readonly kind: 'idle' }
  | Modelling
  | Acting
  | Held
  | { readonly kind: 'ended'; readonly status: 'COMPLETED' | 'FAILED' | 'CANCELLED'; readonly reason: SessionEndReason }

/** The model is asked, or will be again after a back-off. */
export interface Modelling {
  readonly kind: 'modelling'
  readonly turn: OpenTurn
  readonly step: ModelStep
}
/** Calls of the step have no result yet. */
export interface Acting {
  readonly kind: 'acting'
  readonly turn: OpenTurn
  readonly step: ToolStep
  readonly stopping: Stopping | null
}

/** A budget is used up: before the model is called again somebody has to allow it. */
export interface Held {
  readonly kind: 'held'
  readonly turn: OpenTurn
  readonly request: RequestId
}

export interface OpenTurn {
  readonly id: TurnId
  readonly number: number
  /** Whom it serves: the author of the messages that started it. */
  readonly principal: Principal
  readonly startedAt: number
  /** Time that something of it ran, up to `activeSince`, milliseconds. */
  readonly activeMs: number
  /** Since when something of it runs; null while all of it waits, e.g. for a person. */
  readonly activeSince: number | null
  /** Steps begun, and calls that the model asked for in them. */
  readonly steps: number
  readonly calls: number
  /** Takeovers that found it with a model call or a started tool in flight. */
  readonly takeovers: number
  readonly usage: TokenUsage
}

export interface ModelStep {
  readonly id: StepId
  readonly index: number
  /** From 1; every call of the model for this step is another attempt. */
  readonly attempt: number
  /** The lease under which this attempt began. */
  readonly epoch: number
  /** Failures of the provider in this step so far. */
  readonly failures: number
  /** When the provider may be called again; null: now. */
  readonly retryAt: number | null
  readonly startedAt: number
}

export interface ToolStep {
  readonly id: StepId
  readonly index: number
  readonly attempt: number
  readonly calls: readonly OpenCall[]
  /** Messages that withdrew what the step had asked: they join before the next call of the model, whatever their policy. */
  readonly steeredBy?: readonly DeliveryId[]
}

/** A call of the open step. Its input and output are in its row. */
export type OpenCall = OpenCallBase &
  (
    | { readonly state: 'requested' }
    /** Waits for the answer to its request. */
    | { readonly state: 'asking'; readonly request: RequestId }
    /** Recorded as started under lease `epoch`: its code may have run (R3). */
    | { readonly state: 'started'; readonly epoch: number; readonly startedAt: number }
    | { readonly state: 'ended' }
  )
interface OpenCallBase {
  readonly id: CallId
  readonly name: string
  /** May run again after a crash, under the same id. */
  readonly idempotent: boolean
  /** Never runs beside another call of the step. */
  readonly sequential: boolean
}

/** The turn is being stopped; its tools have been told and get until `until` to answer. */
export interface Stopping {
  readonly cause: StopCause
  readonly until: number
  /** A clear came: history is emptied after the turn. */
  readonly clears: boolean
}
/** `end` ends the session with the turn. */
export type StopCause = 'cancel' | 'end' | 'timeout'

export const NEW_CHECKPOINT_PHASE: Phase = { kind: 'created' }

/** The open turn, in the phases that have one. */
export function openTurnOf(checkpoint: Checkpoint): OpenTurn | null {
  const { phase } = checkpoint
  return 'turn' in phase ? phase.turn : null
}

export function isEndedPhase(checkpoint: Checkpoint): boolean {
  return checkpoint.phase.kind === 'ended'
}
