/**
 * A model written as a function of the conversation: deterministic, offline, for tests, examples and the demo. It streams like a real
 * one: word by word, reasoning first, then text, then the arguments of its calls.
 */
import type { Clock } from '../clock.js'
import { ModelError, type ModelClient } from '../session/model.js'
import { echo } from './offline-script.js'
import { performScript } from './perform-script.js'
import type { Script } from './script.js'

export interface ScriptedOptions {
  /** What is shown and recorded. Default: `scripted`. */
  readonly name?: string
  /** Words in a chunk of text; Infinity for the whole text at once. Default: 1. */
  readonly tokensPerChunk?: number
  /** Wait before each chunk, in milliseconds, so that a person sees it stream. Default: 0, no wait at all. */
  readonly delayMs?: number
  readonly clock?: Clock
}

/**
 * A model that answers by a script. The script is called once for each model call, so it sees a retry as a new call with the same
 * conversation. Without a script it echoes, and calls a tool when a message begins with its name (`refund {"order": 7}`).
 *
 * A ModelError that the script throws is the provider's failure; anything else is a fault of the script and not retried.
 *
 * @example
 * scripted(({ step, toolResults, lastUserText }) => {
 *   if (step === 0) return { text: 'Let me look.', calls: [{ name: 'get_weather', input: { city: lastUserText } }] }
 *   return `It is ${toolResults[0]?.text}.`
 * })
 * @example
 * scripted(async function* ({ wait }) {
 *   yield 'Once upon'
 *   await wait(500)
 *   throw scriptedFailure('MODEL_UNAVAILABLE')
 * })
 */
export function scripted(script: Script = echo, options: ScriptedOptions = {}): ModelClient {
  const name = options.name ?? 'scripted'
  return {
    name,
    stream: (request, { signal }) => performScript(script, request, { ...options, name, signal }),
  }
}

const RETRYABLE_CODES: ReadonlySet<string> = new Set(['MODEL_RATE_LIMITED', 'MODEL_UNAVAILABLE', 'MODEL_EMPTY_RESPONSE'])

/** The failure of a provider, for a script to throw or to put in `fail`. Retryable by default when its code is one of passing troubles. */
export function scriptedFailure(
  code: string,
  options: { readonly message?: string; readonly retryable?: boolean; readonly retryAfterMs?: number } = {},
): ModelError {
  const message = options.message ?? `scripted failure ${code}`
  return new ModelError(
    { code, message, retryable: options.retryable ?? RETRYABLE_CODES.has(code) },
    { retryAfterMs: options.retryAfterMs ?? null },
  )
}
