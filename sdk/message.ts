/** What a conversation is made of, as messages.ts folds it. */
import type { ApprovalDecision, FinishReason, InputRequestKind } from './generated/operations.js'
import type { Failure, InputOption, Principal, TokenUsage } from './generated/session-events.js'

export interface UserMessage {
  readonly role: 'user'
  /** Of the delivery that brought it. */
  readonly id: string
  readonly turnId: string | null
  readonly text: string
  readonly by: Principal
  /** RFC 3339. */
  readonly at: string
}

/** What one call of the model said and asked for. */
export interface AssistantMessage {
  readonly role: 'assistant'
  /** Turn and step. */
  readonly id: string
  readonly turnId: string
  readonly stepIndex: number
  /** From 1; another one begins when a call of the model is made again. */
  readonly attempt: number
  /** `retrying`: the provider failed, the call will be made again. `interrupted`: over without an outcome, e.g. its worker was lost. */
  readonly status: 'running' | 'retrying' | 'interrupted' | 'completed' | 'failed'
  /** The finished ones in the order they were finished in, then those that are still streaming. */
  readonly parts: readonly MessagePart[]
  readonly finishReason: FinishReason | null
  readonly usage: TokenUsage | null
  readonly error: Failure | null
  readonly at: string
}

export type MessagePart = TextPart | ToolPart

export interface TextPart {
  readonly type: 'text' | 'reasoning'
  /** Of the block. */
  readonly id: string
  readonly attempt: number
  readonly text: string
  /** `interrupted`: it ends in the middle, and stays. */
  readonly state: 'streaming' | 'done' | 'interrupted'
}

export interface ToolPart {
  readonly type: 'tool'
  /** Of the call. */
  readonly id: string
  readonly attempt: number
  readonly name: string
  readonly label: string | null
  /** `waiting-…`: before somebody has answered its `request`. `abandoned`: its worker died while it ran; it may have taken effect. */
  readonly status: 'streaming' | 'requested' | WaitingStatus | 'running' | 'completed' | 'failed' | 'denied' | 'cancelled' | 'abandoned'
  /** The raw arguments as they stream; whole in `input` once requested. */
  readonly inputText: string
  readonly input: unknown
  readonly inputError: string | null
  /** The newest partial output while it runs. */
  readonly progress: unknown
  readonly output: unknown
  readonly error: Failure | null
  readonly durationMs: number | null
  /** What people were asked about it, last; null: nothing. */
  readonly request: AskedRequest | null
}
export type WaitingStatus = 'waiting-for-approval' | 'waiting-for-input' | 'waiting-for-authorization'

/** What people were asked: an open one is answered by its id, with `session.respond`. */
export interface AskedRequest {
  readonly id: string
  readonly kind: InputRequestKind
  /** `cancelled`: it was withdrawn. */
  readonly status: 'open' | 'answered' | 'cancelled' | 'expired'
  readonly prompt: string
  /** Of questions and limits; approvals and sign-ins take a decision. */
  readonly options: readonly InputOption[]
  readonly minSelections: number
  readonly maxSelections: number
  /** Whether words of one's own are an answer. */
  readonly allowsText: boolean
  /** Empty: whom the turn serves. */
  readonly reviewers: readonly string[]
  /** Where to sign in. */
  readonly url: string | null
  readonly expiresAt: string | null
  /** What an approval or a sign-in came to. */
  readonly decision: ApprovalDecision | null
  /** The answer to anything else. */
  readonly optionIds: readonly string[]
  readonly text: string | null
  readonly json: unknown
  /** Who answered; null: nobody. */
  readonly by: Principal | null
  /** In the words of who answered, or why nobody did. */
  readonly reason: string | null
}

export type Message = UserMessage | AssistantMessage
