/** Chat Completions: OpenAI's, and what nearly every other server offers. Where servers differ, the lenient reading is taken. */
import type OpenAI from 'openai'
import type { HistoryItem } from '../session/history.js'
import type { FinishReason, ModelChunk, ModelClient, ModelRequest, ModelTool } from '../session/model.js'
import type { TokenUsage } from '../session/usage.js'
import { toCallName } from './call-name.js'
import { finishAnswer } from './finish-answer.js'
import { numberAt, recordAt, recordsAt, textAt, type JsonRecord } from './loose-json.js'
import { connect, type Connection, type OpenAiOptions } from './openai-connection.js'
import { readEvents } from './read-events.js'

type Message = OpenAI.ChatCompletionMessageParam
type Body = OpenAI.ChatCompletionCreateParamsStreaming

/**
 * A model behind Chat Completions: OpenAI, or any compatible server (`baseUrl`). Each call is made once and streamed; failures are
 * ModelError, classified. Throws PerdureError at once when the base URL cannot be one.
 *
 * @example openaiChat({ model: 'llama3.2', baseUrl: 'http://localhost:11434/v1', apiKey: 'none' })
 */
export function openaiChat(options: OpenAiOptions): ModelClient {
  const connection = connect(options)
  return {
    name: options.name ?? `openai/${options.model}`,
    stream: (request, { signal }) => streamChat(connection, toBody(connection, options, request), signal),
  }
}

async function* streamChat(connection: Connection, body: Body, signal: AbortSignal): AsyncGenerator<ModelChunk, void, undefined> {
  const answer = new ChatAnswer()
  const call = {
    send: (inner: AbortSignal) => connection.client.chat.completions.create(body, { signal: inner }).asResponse(),
    isLast: () => false,
  }
  try {
    for await (const event of readEvents(connection, call, signal)) yield* answer.read(event)
  } catch (thrown) {
    // Once the reason to finish is there the answer is whole, however the connection ended.
    if (answer.reason === null || signal.aborted) throw thrown
  }
  yield* finishAnswer(answer, connection.provider)
}

// ---- the request

function toBody({ isOpenAi }: Connection, options: OpenAiOptions, request: ModelRequest): Body {
  const limit = options.maxOutputTokens
  return {
    model: options.model,
    messages: toMessages(request),
    stream: true,
    stream_options: { include_usage: true },
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(toTool) }),
    ...(options.reasoningEffort === undefined ? {} : { reasoning_effort: options.reasoningEffort }),
    ...(isOpenAi ? { store: false, prompt_cache_key: request.cacheKey } : {}),
    // The name that OpenAI replaced is the one that other servers know.
    ...(limit === undefined ? {} : isOpenAi ? { max_completion_tokens: limit } : { max_tokens: limit }),
  }
}

function toTool(tool: ModelTool): OpenAI.ChatCompletionFunctionTool {
  return { type: 'function', function: { name: tool.name, description: tool.description, parameters: tool.inputSchema } }
}

function toMessages({ instructions, history }: ModelRequest): Message[] {
  const messages = history.map(toMessage)
  return instructions === '' ? messages : [{ role: 'system', content: instructions }, ...messages]
}

function toMessage(item: HistoryItem): Message {
  if (item.role === 'user') return { role: 'user', content: item.text }
  if (item.role === 'tool') return { role: 'tool', tool_call_id: item.callId, content: item.text }
  if (item.calls.length === 0) return { role: 'assistant', content: item.text }
  const calls = item.calls.map((call) => ({
    id: call.id,
    type: 'function' as const,
    function: { name: toCallName(call.name), arguments: JSON.stringify(call.input) },
  }))
  return { role: 'assistant', content: item.text === '' ? null : item.text, tool_calls: calls }
}

// ---- the answer

interface OpenCall {
  readonly key: string
  readonly index: number | null
  readonly id: string
  name: string
  /** Arguments that came before the name. */
  held: string
}

class ChatAnswer {
  readonly #calls: OpenCall[] = []
  #hasCalls = false
  #refused = false
  #reason: FinishReason | null = null
  #hasText = false
  #usage: TokenUsage | null = null

  get reason(): FinishReason | null {
    return this.#refused && this.#reason !== null ? 'REFUSAL' : this.#reason
  }
  get hasText(): boolean {
    return this.#hasText
  }
  get hasCalls(): boolean {
    return this.#hasCalls
  }
  get usage(): TokenUsage | null {
    return this.#usage
  }

  /** One event. It may carry usage only, or nothing that matters; then `choices` is empty. */
  read(event: JsonRecord): ModelChunk[] {
    const usage = recordAt(event, 'usage')
    if (usage !== null) this.#usage = toUsage(usage)
    const choice = recordsAt(event, 'choices').find((candidate) => (numberAt(candidate, 'index') ?? 0) === 0)
    if (choice === undefined) return []
    const delta = recordAt(choice, 'delta')
    const chunks = delta === null ? [] : this.#readDelta(delta)
    const reason = textAt(choice, 'finish_reason')
    if (reason !== '') this.#reason = FINISH_REASONS.get(reason) ?? 'OTHER'
    return chunks
  }

  #readDelta(delta: JsonRecord): ModelChunk[] {
    const chunks: ModelChunk[] = []
    const reasoning = textAt(delta, 'reasoning_content') || textAt(delta, 'reasoning')
    if (reasoning !== '') chunks.push({ type: 'reasoning', key: 'reasoning', text: reasoning })
    const refusal = textAt(delta, 'refusal')
    if (refusal !== '') this.#refused = true
    for (const text of [textAt(delta, 'content'), refusal]) {
      if (text === '') continue
      this.#hasText = true
      chunks.push({ type: 'text', key: 'text', text })
    }
    for (const part of recordsAt(delta, 'tool_calls')) chunks.push(...this.#readCall(part))
    return chunks
  }

  /** A call shows as soon as it has a name, with arguments or without. */
  #readCall(part: JsonRecord): ModelChunk[] {
    const fn = recordAt(part, 'function') ?? {}
    const name = textAt(fn, 'name')
    const call = this.#callOf(part, name)
    const isNamedNow = call.name === '' && name !== ''
    if (isNamedNow) call.name = name
    const text = call.held + argumentsOf(fn)
    call.held = call.name === '' ? text : ''
    if (call.name === '' || (text === '' && !isNamedNow)) return []
    this.#hasCalls = true
    return [{ type: 'tool-input', key: call.key, name: call.name, text }]
  }

  /** By index; a server without indices, or with the same one for all, tells calls apart by id or by naming the next. */
  #callOf(part: JsonRecord, name: string): OpenCall {
    const index = numberAt(part, 'index')
    const id = textAt(part, 'id')
    if (index === null) {
      const known = id === '' ? (name === '' ? this.#calls.at(-1) : undefined) : this.#calls.find((call) => call.id === id)
      return known ?? this.#open(index, id)
    }
    const known = this.#calls.findLast((call) => call.index === index)
    const isAnother = known !== undefined && name !== '' && id !== '' && known.id !== '' && known.id !== id
    return known === undefined || isAnother ? this.#open(index, id) : known
  }

  #open(index: number | null, id: string): OpenCall {
    const call: OpenCall = { key: `call-${this.#calls.length}`, index, id, name: '', held: '' }
    this.#calls.push(call)
    return call
  }
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['stop', 'STOP'],
  ['tool_calls', 'TOOL_CALLS'],
  ['function_call', 'TOOL_CALLS'],
  ['length', 'LENGTH'],
  ['content_filter', 'CONTENT_FILTER'],
])

/** A string by the protocol; some servers send the object itself. */
function argumentsOf(fn: JsonRecord): string {
  const whole = recordAt(fn, 'arguments')
  return whole === null ? textAt(fn, 'arguments') : JSON.stringify(whole)
}

function toUsage(usage: JsonRecord): TokenUsage {
  const prompt = recordAt(usage, 'prompt_tokens_details') ?? {}
  const completion = recordAt(usage, 'completion_tokens_details') ?? {}
  const promptTokens = numberAt(usage, 'prompt_tokens')
  const completionTokens = numberAt(usage, 'completion_tokens')
  return {
    promptTokens,
    completionTokens,
    cacheTokens: numberAt(prompt, 'cached_tokens'),
    reasoningTokens: numberAt(completion, 'reasoning_tokens'),
    // OpenRouter and others that speak the protocol say what the call cost.
    costUsd: numberAt(usage, 'cost'),
    incomplete: promptTokens === null || completionTokens === null,
  }
}
