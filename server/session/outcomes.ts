/** What doing an effect gave. `settle/` turns each into a commit. */
import type { Failure, Json } from '../errors.js'
import type { BlockId, CallId } from '../ids.js'
import type { CallResult } from './commit.js'
import type { FinishReason } from './model.js'
import type { RequestSpec } from './requests.js'
import type { SessionState } from './state.js'
import type { TokenUsage } from './usage.js'

/** A finished or interrupted block of an answer. */
export interface Block {
  readonly id: BlockId
  readonly kind: 'text' | 'reasoning'
  readonly text: string
}

/** A call that the model asked for, checked against the agent's tools. */
export interface RequestedCall {
  readonly id: CallId
  readonly name: string
  readonly label: string | null
  readonly input: Json
  /** The arguments as written, when they are not valid JSON. */
  readonly rawInput: string | null
  /** Why it cannot run: an unknown tool, arguments that do not parse or do not fit the schema, a policy that denies it. */
  readonly refusal: Failure | null
  /** What a person has to be asked before it runs, or instead of it; null: nothing. */
  readonly ask: RequestSpec | null
  readonly idempotent: boolean
  readonly sequential: boolean
}

export interface ModelAnswered {
  readonly kind: 'model-answered'
  readonly attempt: number
  readonly blocks: readonly Block[]
  readonly calls: readonly RequestedCall[]
  readonly finishReason: FinishReason
  readonly usage: TokenUsage | null
}
export interface ModelFailed {
  readonly kind: 'model-failed'
  readonly attempt: number
  readonly failure: Failure
  readonly retryAfterMs: number | null
}
export interface ToolEnded {
  readonly kind: 'tool-ended'
  readonly callId: CallId
  readonly status: 'COMPLETED' | 'FAILED' | 'CANCELLED'
  readonly result: CallResult
  /** What a completed call has set of the author's state. */
  readonly state?: SessionState
}
export type Outcome = ModelAnswered | ModelFailed | ToolEnded
