/**
 * Token counts, and what they cost. A count that a provider did not report is null, never 0; a sum that lacks one says `incomplete`.
 * `promptTokens` includes the cached ones, `completionTokens` the reasoning ones.
 */
export interface TokenUsage {
  readonly promptTokens: number | null
  readonly completionTokens: number | null
  readonly cacheTokens: number | null
  readonly reasoningTokens: number | null
  /** As the provider says, US dollars; few do. */
  readonly costUsd: number | null
  readonly incomplete: boolean
}

export const NO_USAGE: TokenUsage = {
  promptTokens: null,
  completionTokens: null,
  cacheTokens: null,
  reasoningTokens: null,
  costUsd: null,
  incomplete: false,
}

/** Adds the usage of one model call to a sum; `call` is null when the provider reported none. */
export function addUsage(sum: TokenUsage, call: TokenUsage | null): TokenUsage {
  if (call === null) return { ...sum, incomplete: true }
  return {
    promptTokens: add(sum.promptTokens, call.promptTokens),
    completionTokens: add(sum.completionTokens, call.completionTokens),
    cacheTokens: add(sum.cacheTokens, call.cacheTokens),
    reasoningTokens: add(sum.reasoningTokens, call.reasoningTokens),
    costUsd: add(sum.costUsd, call.costUsd),
    incomplete: sum.incomplete || call.incomplete || call.promptTokens === null || call.completionTokens === null,
  }
}

function add(one: number | null, other: number | null): number | null {
  if (one === null) return other
  return other === null ? one : one + other
}
