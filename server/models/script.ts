/** What an author writes and reads to script a model (scripted.ts). */
import type { Json } from '../errors.js'
import type { HistoryItem, ToolItem } from '../session/history.js'
import type { FinishReason, ModelTool } from '../session/model.js'
import type { TokenUsage } from '../session/usage.js'

/** What a script sees of the session when its model is called. */
export interface Conversation {
  readonly instructions: string
  readonly history: readonly HistoryItem[]
  readonly tools: readonly ModelTool[]
  /** The newest message of the user; '' when there is none. */
  readonly lastUserText: string
  /** Messages of users so far, the newest included. */
  readonly userMessages: number
  /** How many times the model has answered since the newest message of the user: 0 for its first answer. */
  readonly step: number
  /** Results of the calls of the answer before, in call order; empty on the first step. */
  readonly toolResults: readonly ToolItem[]
  readonly signal: AbortSignal
  /** Waits; throws the abort reason when the call is aborted. */
  wait(ms: number): Promise<void>
}

export interface ScriptedCall {
  readonly name: string
  /** Default: `{}`. */
  readonly input?: Json
  /** The arguments as the model writes them, e.g. cut off or not JSON; instead of `input`. */
  readonly rawInput?: string
}

/** An answer, or a part of one. What is left out does not come. */
export interface ScriptedAnswer {
  readonly reasoning?: string
  readonly text?: string
  /** Several calls of one answer are parallel. */
  readonly calls?: readonly ScriptedCall[]
  /** Default: TOOL_CALLS when there were calls, else STOP. */
  readonly finish?: FinishReason
  /** Default: counted words. Null: the provider reports none. */
  readonly usage?: TokenUsage | null
  /** Wait before each chunk, in milliseconds. Default: the model's. */
  readonly delayMs?: number
  /** Thrown after all of the above was streamed: an answer that breaks off. See `scriptedFailure`. */
  readonly fail?: Error
  /** Falls silent after all of the above, until the call is aborted. */
  readonly hang?: boolean
}

/** A string is a text. An async iterable gives an answer in parts, at the pace of its own; what it throws breaks the answer off. */
export type ScriptedReply = string | ScriptedAnswer | AsyncIterable<string | ScriptedAnswer>
export type Script = (conversation: Conversation) => ScriptedReply | Promise<ScriptedReply>
