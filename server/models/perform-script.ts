/** Makes one answer of a scripted model: asks the script, streams what it replied, reports usage, finishes. */
import { systemClock, type Clock } from '../clock.js'
import { toMessage } from '../errors.js'
import { ModelError, type ModelChunk, type ModelRequest } from '../session/model.js'
import type { TokenUsage } from '../session/usage.js'
import type { Conversation, Script, ScriptedAnswer, ScriptedReply } from './script.js'
import { completionTokens, promptTokens, toWords } from './word-count.js'

export interface Performance {
  readonly name: string
  readonly signal: AbortSignal
  readonly tokensPerChunk?: number
  readonly delayMs?: number
  readonly clock?: Clock
}

/** What was streamed so far, over all parts of the answer. */
interface Told {
  text: string
  reasoning: string
  input: string
  calls: number
  ending: Pick<ScriptedAnswer, 'finish' | 'usage'>
}

export async function* performScript(
  script: Script,
  request: ModelRequest,
  options: Performance,
): AsyncGenerator<ModelChunk, void, undefined> {
  const { signal } = options
  signal.throwIfAborted()
  const told: Told = { text: '', reasoning: '', input: '', calls: 0, ending: {} }
  try {
    const replied = script(toConversation(request, options))
    const reply = replied instanceof Promise ? await replied : replied
    for await (const part of toParts(reply)) yield* performPart(typeof part === 'string' ? { text: part } : part, told, options)
  } catch (thrown) {
    signal.throwIfAborted()
    throw thrown instanceof ModelError ? thrown : faultOf(options.name, thrown)
  }
  signal.throwIfAborted()
  yield* toEnding(told, request)
}

async function* performPart(answer: ScriptedAnswer, told: Told, options: Performance): AsyncGenerator<ModelChunk, void, undefined> {
  const delayMs = answer.delayMs ?? options.delayMs ?? 0
  told.ending = { ...told.ending, ...answer }
  for (const chunk of toChunks(answer, told.calls, options.tokensPerChunk ?? 1)) {
    if (delayMs > 0) await wait(delayMs, options)
    options.signal.throwIfAborted()
    told[chunk.type === 'tool-input' ? 'input' : chunk.type] += chunk.text
    yield chunk
  }
  told.calls += answer.calls?.length ?? 0
  if (answer.fail !== undefined) throw answer.fail
  if (answer.hang === true) await wait(null, options)
}

type Piece = Exclude<ModelChunk, { type: 'usage' | 'finish' }>

function* toChunks(answer: ScriptedAnswer, callsBefore: number, perChunk: number): Generator<Piece, void, undefined> {
  for (const text of toWords(answer.reasoning ?? '', perChunk)) yield { type: 'reasoning', key: 'reasoning', text }
  for (const text of toWords(answer.text ?? '', perChunk)) yield { type: 'text', key: 'text', text }
  for (const [index, call] of (answer.calls ?? []).entries()) {
    const key = `call-${callsBefore + index}`
    const raw = call.rawInput ?? JSON.stringify(call.input ?? {})
    for (const text of raw === '' ? [''] : toWords(raw, perChunk)) yield { type: 'tool-input', key, name: call.name, text }
  }
}

function* toEnding(told: Told, request: ModelRequest): Generator<ModelChunk, void, undefined> {
  const { finish, usage = countUsage(request, told) } = told.ending
  if (told.text === '' && told.calls === 0 && finish === undefined) {
    const message = 'the script answered with neither text nor a tool call'
    throw new ModelError({ code: 'MODEL_EMPTY_RESPONSE', message, retryable: true })
  }
  if (usage !== null) yield { type: 'usage', usage }
  yield { type: 'finish', reason: finish ?? (told.calls > 0 ? 'TOOL_CALLS' : 'STOP') }
}

function countUsage(request: ModelRequest, { text, reasoning, input }: Told): TokenUsage {
  return {
    promptTokens: promptTokens(request),
    completionTokens: completionTokens(text, reasoning, input),
    cacheTokens: 0,
    reasoningTokens: completionTokens(reasoning),
    costUsd: null,
    incomplete: false,
  }
}

function toConversation(request: ModelRequest, options: Performance): Conversation {
  const { history } = request
  const lastUser = history.findLastIndex((item) => item.role === 'user')
  const lastAnswer = history.findLastIndex((item) => item.role === 'assistant')
  return {
    instructions: request.instructions,
    history,
    tools: request.tools,
    lastUserText: history[lastUser]?.text ?? '',
    get userMessages() {
      return history.filter((item) => item.role === 'user').length
    },
    step: history.slice(lastUser + 1).filter((item) => item.role === 'assistant').length,
    toolResults: lastAnswer > lastUser ? history.slice(lastAnswer + 1).filter((item) => item.role === 'tool') : [],
    signal: options.signal,
    wait: (ms) => wait(ms, options),
  }
}

function toParts(reply: ScriptedReply): AsyncIterable<string | ScriptedAnswer> | readonly (string | ScriptedAnswer)[] {
  return typeof reply === 'object' && Symbol.asyncIterator in reply ? reply : [reply]
}

function faultOf(name: string, thrown: unknown): ModelError {
  return new ModelError(
    { code: 'INTERNAL', message: `the script of the model "${name}" threw: ${toMessage(thrown)}`, retryable: false },
    { cause: thrown },
  )
}

/** Throws the abort reason when aborted. Null waits for that alone. */
async function wait(ms: number | null, { signal, clock = systemClock }: Performance): Promise<void> {
  signal.throwIfAborted()
  await new Promise<void>((resolve) => {
    const cancelTimer = ms === null ? () => undefined : clock.after(ms, end)
    function end(): void {
      cancelTimer()
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end)
  })
  signal.throwIfAborted()
}
