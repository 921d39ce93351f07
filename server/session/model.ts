/** What the heart asks of a model, in no provider's words, and what comes back as it streams. */
import type { Failure, Json } from '../errors.js'
import type { HistoryItem } from './history.js'
import type { TokenUsage } from './usage.js'

export const FINISH_REASONS = ['STOP', 'TOOL_CALLS', 'LENGTH', 'CONTENT_FILTER', 'REFUSAL', 'OTHER'] as const
export type FinishReason = (typeof FINISH_REASONS)[number]

export interface ModelTool {
  readonly name: string
  readonly description: string
  /** JSON Schema (draft 2020-12) of the arguments; its root is an object. */
  readonly inputSchema: { readonly [key: string]: Json }
}

export interface ModelRequest {
  /** The system instructions of the agent as it is now; never part of the history. */
  readonly instructions: string
  /** Valid: each assistant item with calls is followed by exactly one result for each, in order. */
  readonly history: readonly HistoryItem[]
  readonly tools: readonly ModelTool[]
  /** Stable for a session: lets a provider find its prompt cache. */
  readonly cacheKey: string
}

/**
 * A piece of a model's answer. Pieces of one block or call come in order; `key` tells blocks and calls of one answer apart
 * and is the client's own choice. `finish` comes last and once; a stream that ends without it was truncated, and the
 * client throws. The last `usage` counts.
 */
export type ModelChunk =
  | { readonly type: 'text'; readonly key: string; readonly text: string }
  | { readonly type: 'reasoning'; readonly key: string; readonly text: string }
  | { readonly type: 'tool-input'; readonly key: string; readonly name: string; readonly text: string }
  | { readonly type: 'usage'; readonly usage: TokenUsage }
  | { readonly type: 'finish'; readonly reason: FinishReason }

/** One model, ready to be called. */
export interface ModelClient {
  /** What is shown and recorded, e.g. `openai/gpt-5`. */
  readonly name: string
  /**
   * Calls the model once; never retries by itself. Aborting `signal` closes the provider's request at once.
   * Throws ModelError for whatever the provider answers or fails with; rethrows the abort reason when aborted.
   */
  stream(request: ModelRequest, options: { readonly signal: AbortSignal }): AsyncIterable<ModelChunk>
}

/** A provider's failure, classified once, by the client. */
export class ModelError extends Error {
  readonly failure: Failure
  /** What the provider asked to wait, if it did. */
  readonly retryAfterMs: number | null

  constructor(failure: Failure, options: { readonly retryAfterMs?: number | null; readonly cause?: unknown } = {}) {
    super(failure.message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ModelError'
    this.failure = failure
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}
