/** How every provider's answer ends: truncated and empty ones are failures, the rest is its usage and one reason. */
import { ModelError, type FinishReason, type ModelChunk } from '../session/model.js'
import type { TokenUsage } from '../session/usage.js'
import { placeOf, unavailable, type Provider } from './classify-error.js'

export interface EndedAnswer {
  /** What the provider gave as reason; null when the stream ended without one. */
  readonly reason: FinishReason | null
  readonly hasText: boolean
  readonly hasCalls: boolean
  /** The last one that was reported. */
  readonly usage: TokenUsage | null
}

/** The last chunks of an answer. Throws ModelError when it was cut off, or when there is nothing in it. */
export function finishAnswer(answer: EndedAnswer, provider: Provider): ModelChunk[] {
  if (answer.reason === null) {
    throw unavailable(provider, `The answer of ${placeOf(provider)} was cut off before its end; try again`)
  }
  const reason = toReason(answer.reason, answer.hasCalls)
  const isWithheld = reason === 'REFUSAL' || reason === 'CONTENT_FILTER'
  if (!answer.hasText && !answer.hasCalls && !isWithheld) throw emptyAnswer(reason, provider)
  const finish: ModelChunk = { type: 'finish', reason }
  return answer.usage === null ? [finish] : [{ type: 'usage', usage: answer.usage }, finish]
}

/** Some servers say "stop" after calls, or "tool_calls" without one: what came counts. */
function toReason(reason: FinishReason, hasCalls: boolean): FinishReason {
  if (reason === 'STOP' && hasCalls) return 'TOOL_CALLS'
  return reason === 'TOOL_CALLS' && !hasCalls ? 'STOP' : reason
}

/** A model that spent its limit on thinking does the same again; any other empty answer is an accident. */
function emptyAnswer(reason: FinishReason, provider: Provider): ModelError {
  const details = { host: provider.host, model: provider.model }
  const code = 'MODEL_EMPTY_RESPONSE'
  if (reason === 'LENGTH') {
    const message = `${provider.model} reached its output limit before it wrote anything; raise maxOutputTokens or lower reasoningEffort`
    return new ModelError({ code, message, retryable: false, details })
  }
  const message = `${provider.model} at ${provider.name} answered with neither text nor a tool call; send the message again`
  return new ModelError({ code, message, retryable: true, details })
}
