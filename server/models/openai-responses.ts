/** OpenAI's Responses API, stateless: nothing is stored at the provider, the history goes along with every call. */
import type OpenAI from 'openai'
import type { HistoryItem } from '../session/history.js'
import type { FinishReason, ModelChunk, ModelClient, ModelRequest, ModelTool } from '../session/model.js'
import type { TokenUsage } from '../session/usage.js'
import { toCallName } from './call-name.js'
import { finishAnswer } from './finish-answer.js'
import { numberAt, recordAt, recordsAt, textAt, type JsonRecord } from './loose-json.js'
import { connect, type Connection, type OpenAiOptions } from './openai-connection.js'
import { readEvents } from './read-events.js'

type Body = OpenAI.Responses.ResponseCreateParamsStreaming
type Item = OpenAI.Responses.ResponseInputItem

export interface OpenAiResponsesOptions extends OpenAiOptions {
  /** Asks for a summary of the model's reasoning, which is streamed. Default: none; OpenAI gives it to verified organisations only. */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed'
}

/**
 * A model behind OpenAI's Responses API. Each call is made once and streamed; failures are ModelError, classified. Throws PerdureError
 * at once when the base URL cannot be one.
 *
 * @example openaiResponses({ model: 'gpt-5', apiKey })
 */
export function openaiResponses(options: OpenAiResponsesOptions): ModelClient {
  const connection = connect(options)
  return {
    name: options.name ?? `openai/${options.model}`,
    stream: (request, { signal }) => streamResponse(connection, toBody(options, request), signal),
  }
}

async function* streamResponse(connection: Connection, body: Body, signal: AbortSignal): AsyncGenerator<ModelChunk, void, undefined> {
  const answer = new ResponsesAnswer()
  const call = {
    send: (inner: AbortSignal) => connection.client.responses.create(body, { signal: inner }).asResponse(),
    isLast: (event: JsonRecord) => LAST_EVENTS.has(textAt(event, 'type')),
  }
  for await (const event of readEvents(connection, call, signal)) yield* answer.read(event)
  yield* finishAnswer(answer, connection.provider)
}

const LAST_EVENTS = new Set(['response.completed', 'response.incomplete'])

// ---- the request

function toBody(options: OpenAiResponsesOptions, request: ModelRequest): Body {
  const reasoning = {
    ...(options.reasoningEffort === undefined ? {} : { effort: options.reasoningEffort }),
    ...(options.reasoningSummary === undefined ? {} : { summary: options.reasoningSummary }),
  }
  return {
    model: options.model,
    input: request.history.flatMap(toItems),
    stream: true,
    store: false,
    prompt_cache_key: request.cacheKey,
    ...(request.instructions === '' ? {} : { instructions: request.instructions }),
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(toTool) }),
    ...(options.maxOutputTokens === undefined ? {} : { max_output_tokens: options.maxOutputTokens }),
    ...(Object.keys(reasoning).length === 0 ? {} : { reasoning }),
  }
}

/** Not strict: strict mode wants schemas in a narrower form than authors write; arguments are checked here anyway. */
function toTool(tool: ModelTool): OpenAI.Responses.FunctionTool {
  return { type: 'function', name: tool.name, description: tool.description, parameters: tool.inputSchema, strict: false }
}

function toItems(item: HistoryItem): Item[] {
  if (item.role === 'user') return [{ role: 'user', content: item.text }]
  if (item.role === 'tool') return [{ type: 'function_call_output', call_id: item.callId, output: item.text }]
  const calls = item.calls.map((call): Item => ({
    type: 'function_call',
    call_id: call.id,
    name: toCallName(call.name),
    arguments: JSON.stringify(call.input),
  }))
  return item.text === '' ? calls : [{ role: 'assistant', content: item.text }, ...calls]
}

// ---- the answer

type Part = { readonly type: 'text' | 'reasoning' } | { readonly type: 'tool-input'; readonly name: string }

/**
 * Each piece comes as deltas, then whole in the event that ends its item, then whole again in the last one. Servers leave out some of
 * these: of an item only what was not streamed yet counts, and the last event's items only when nothing came before.
 */
class ResponsesAnswer {
  /** Code units of each part that were streamed. */
  readonly #streamed = new Map<string, number>()
  readonly #callNames = new Map<string, string>()
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
    return this.#callNames.size > 0
  }
  get usage(): TokenUsage | null {
    return this.#usage
  }

  read(event: JsonRecord): ModelChunk[] {
    switch (textAt(event, 'type')) {
      case 'response.output_text.delta':
        return this.#text(partKey(event, 'content_index'), textAt(event, 'delta'))
      case 'response.refusal.delta':
        this.#refused = true
        return this.#text(partKey(event, 'content_index'), textAt(event, 'delta'))
      case 'response.reasoning_summary_text.delta':
        return this.#add(partKey(event, 'summary_index'), { type: 'reasoning' }, textAt(event, 'delta'))
      case 'response.reasoning_text.delta':
        return this.#add(partKey(event, 'content_index'), { type: 'reasoning' }, textAt(event, 'delta'))
      case 'response.function_call_arguments.delta':
        return this.#arguments(itemKey(event), textAt(event, 'delta'))
      case 'response.output_item.added':
      case 'response.output_item.done':
        return this.#item(itemKey(event), recordAt(event, 'item') ?? {})
      case 'response.completed':
      case 'response.incomplete':
        return this.#end(recordAt(event, 'response') ?? {}, textAt(event, 'type'))
      default:
        return []
    }
  }

  /** An item as far as it is: what of it was not streamed yet. */
  #item(key: string, item: JsonRecord): ModelChunk[] {
    switch (textAt(item, 'type')) {
      case 'function_call':
        return this.#call(key, textAt(item, 'name'), textAt(item, 'arguments'))
      case 'message':
        return recordsAt(item, 'content').flatMap((part, index) => this.#messagePart(`${key}/${index}`, part))
      case 'reasoning':
        return recordsAt(item, 'summary').flatMap((part, index) =>
          this.#rest(`${key}/${index}`, { type: 'reasoning' }, textAt(part, 'text')),
        )
      default:
        return []
    }
  }

  #messagePart(key: string, part: JsonRecord): ModelChunk[] {
    const refusal = textAt(part, 'refusal')
    if (refusal !== '') this.#refused = true
    const rest = this.#rest(key, { type: 'text' }, refusal === '' ? textAt(part, 'text') : refusal)
    if (rest.length > 0) this.#hasText = true
    return rest
  }

  /** A call shows as soon as it is named, with arguments or without. */
  #call(key: string, name: string, whole: string): ModelChunk[] {
    if (this.#callNames.has(key)) return this.#rest(key, { type: 'tool-input', name }, whole)
    this.#callNames.set(key, name)
    this.#streamed.set(key, whole.length)
    return [{ type: 'tool-input', key, name, text: whole }]
  }

  #arguments(key: string, delta: string): ModelChunk[] {
    const name = this.#callNames.get(key)
    return name === undefined ? [] : this.#add(key, { type: 'tool-input', name }, delta)
  }

  #text(key: string, delta: string): ModelChunk[] {
    if (delta !== '') this.#hasText = true
    return this.#add(key, { type: 'text' }, delta)
  }

  #rest(key: string, part: Part, whole: string): ModelChunk[] {
    return this.#add(key, part, whole.slice(this.#streamed.get(key) ?? 0))
  }

  #add(key: string, part: Part, text: string): ModelChunk[] {
    if (text === '') return []
    this.#streamed.set(key, (this.#streamed.get(key) ?? 0) + text.length)
    return [{ ...part, key, text }]
  }

  #end(response: JsonRecord, type: string): ModelChunk[] {
    const usage = recordAt(response, 'usage')
    if (usage !== null) this.#usage = toUsage(usage)
    const why = textAt(recordAt(response, 'incomplete_details') ?? {}, 'reason')
    this.#reason = type === 'response.completed' ? 'STOP' : (INCOMPLETE_REASONS.get(why) ?? 'OTHER')
    return this.#hasText || this.hasCalls ? [] : recordsAt(response, 'output').flatMap((item, index) => this.#item(String(index), item))
  }
}

const INCOMPLETE_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['max_output_tokens', 'LENGTH'],
  ['content_filter', 'CONTENT_FILTER'],
])

function itemKey(event: JsonRecord): string {
  const index = numberAt(event, 'output_index')
  return index === null ? textAt(event, 'item_id') || textAt(recordAt(event, 'item') ?? {}, 'id') : String(index)
}

function partKey(event: JsonRecord, indexName: 'content_index' | 'summary_index'): string {
  return `${itemKey(event)}/${numberAt(event, indexName) ?? 0}`
}

function toUsage(usage: JsonRecord): TokenUsage {
  const promptTokens = numberAt(usage, 'input_tokens')
  const completionTokens = numberAt(usage, 'output_tokens')
  return {
    promptTokens,
    completionTokens,
    cacheTokens: numberAt(recordAt(usage, 'input_tokens_details') ?? {}, 'cached_tokens'),
    reasoningTokens: numberAt(recordAt(usage, 'output_tokens_details') ?? {}, 'reasoning_tokens'),
    costUsd: numberAt(usage, 'cost'),
    incomplete: promptTokens === null || completionTokens === null,
  }
}
