/** An answer as OpenAI's two protocols write it on the wire: the events of a stream, as JSON texts. */
import type { FinishReason } from '../../server/session/model.js'
import type { TokenUsage } from '../../server/session/usage.js'

export interface WireCall {
  readonly name: string
  /** Arguments, as the model wrote them. */
  readonly raw: string
}
export interface WireAnswer {
  readonly reasoning?: string
  readonly text?: string
  readonly refusal?: string
  readonly calls?: readonly WireCall[]
  readonly finish?: FinishReason
  /** Null: none is reported. */
  readonly usage?: TokenUsage | null
}

export const WIRE_USAGE: TokenUsage = {
  promptTokens: 21,
  completionTokens: 8,
  cacheTokens: 13,
  reasoningTokens: 3,
  costUsd: null,
  incomplete: false,
}

/** Frames each event as `data: …`, with OpenAI's line ends. */
export function toStream(events: readonly string[]): string {
  return events.map((event) => `data: ${event}\n\n`).join('')
}

/** Cuts a text into pieces as a model streams it. */
export function toDeltas(text: string, size = 3): readonly string[] {
  const characters = Array.from(text)
  const deltas: string[] = []
  for (let start = 0; start < characters.length; start += size) deltas.push(characters.slice(start, start + size).join(''))
  return deltas
}

// ---- Chat Completions

const CHAT_REASONS: Readonly<Record<FinishReason, string>> = {
  STOP: 'stop',
  TOOL_CALLS: 'tool_calls',
  LENGTH: 'length',
  CONTENT_FILTER: 'content_filter',
  REFUSAL: 'stop',
  OTHER: 'something_new',
}

/** The pieces of parallel calls are interleaved. */
export function toChatEvents(answer: WireAnswer): readonly string[] {
  const reason = answer.finish ?? (answer.calls === undefined ? 'STOP' : 'TOOL_CALLS')
  const usage = answer.usage === undefined ? WIRE_USAGE : answer.usage
  return [...chatContentEvents(answer), chatEvent({}, CHAT_REASONS[reason]), ...(usage === null ? [] : [chatUsageEvent(usage)]), '[DONE]']
}

/** What of an answer comes before its end. */
export function chatContentEvents(answer: WireAnswer): readonly string[] {
  const calls = answer.calls ?? []
  const openings = calls.map((call, index) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name: call.name, arguments: '' },
  }))
  const deltas = calls.map((call) => toDeltas(call.raw))
  const rounds = Math.max(0, ...deltas.map((pieces) => pieces.length))
  const fragments = Array.from({ length: rounds }, (_, round) =>
    deltas.flatMap((pieces, index) => (pieces[round] === undefined ? [] : [{ index, function: { arguments: pieces[round] } }])),
  ).flat()
  return [
    chatEvent({ role: 'assistant', content: '' }),
    ...toDeltas(answer.reasoning ?? '').map((text) => chatEvent({ reasoning_content: text })),
    ...toDeltas(answer.text ?? '').map((text) => chatEvent({ content: text })),
    ...toDeltas(answer.refusal ?? '').map((text) => chatEvent({ refusal: text })),
    ...[...openings, ...fragments].map((call) => chatEvent({ tool_calls: [call] })),
  ]
}

export function chatEvent(delta: object, finishReason: string | null = null): string {
  return JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: finishReason }],
    usage: null,
  })
}

export function chatUsageEvent(usage: TokenUsage): string {
  return JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    choices: [],
    usage: {
      prompt_tokens: usage.promptTokens,
      completion_tokens: usage.completionTokens,
      prompt_tokens_details: { cached_tokens: usage.cacheTokens },
      completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    },
  })
}

// ---- Responses

export function toResponsesEvents(answer: WireAnswer): readonly string[] {
  const usage = answer.usage === undefined ? WIRE_USAGE : answer.usage
  const why = answer.finish === 'LENGTH' ? 'max_output_tokens' : answer.finish === 'CONTENT_FILTER' ? 'content_filter' : 'something_new'
  const isComplete =
    answer.finish === undefined || answer.finish === 'STOP' || answer.finish === 'TOOL_CALLS' || answer.finish === 'REFUSAL'
  const last = {
    type: isComplete ? 'response.completed' : 'response.incomplete',
    response: {
      status: isComplete ? 'completed' : 'incomplete',
      error: null,
      incomplete_details: isComplete ? null : { reason: why },
      output: outputItems(answer).map((item) => item.whole),
      usage: usage === null ? null : responsesUsage(usage),
    },
  }
  return [...responsesContentEvents(answer), JSON.stringify(last)]
}

/** What of an answer comes before its end. */
export function responsesContentEvents(answer: WireAnswer): readonly string[] {
  const opening = { type: 'response.created', response: { status: 'in_progress', error: null, output: [] } }
  const items = outputItems(answer).flatMap((item, index) => [
    { type: 'response.output_item.added', output_index: index, item: item.opening },
    ...toDeltas(item.text).map((delta) => ({
      type: item.deltaType,
      output_index: index,
      item_id: item.id,
      content_index: 0,
      summary_index: 0,
      delta,
    })),
    { type: 'response.output_item.done', output_index: index, item: item.whole },
  ])
  return [opening, ...items].map((event) => JSON.stringify(event))
}

/** Each whole item, and beside it what its stream is made of. */
function outputItems(answer: WireAnswer): readonly WireItem[] {
  const items: WireItem[] = []
  if (answer.reasoning !== undefined) {
    const summary = [{ type: 'summary_text', text: answer.reasoning }]
    items.push(wireItem('rs_1', answer.reasoning, 'reasoning_summary_text', { type: 'reasoning', summary }))
  }
  if (answer.text !== undefined) {
    const content = [{ type: 'output_text', text: answer.text, annotations: [] }]
    items.push(wireItem('msg_1', answer.text, 'output_text', { type: 'message', content }))
  }
  if (answer.refusal !== undefined) {
    items.push(wireItem('msg_2', answer.refusal, 'refusal', { type: 'message', content: [{ type: 'refusal', refusal: answer.refusal }] }))
  }
  for (const [index, call] of (answer.calls ?? []).entries()) {
    const item = { type: 'function_call', call_id: `call_${index}`, name: call.name, arguments: call.raw }
    items.push(wireItem(`fc_${index}`, call.raw, 'function_call_arguments', item))
  }
  return items
}

interface WireItem {
  readonly id: string
  readonly text: string
  readonly deltaType: string
  readonly opening: object
  readonly whole: object
}

/** An item opens without what its deltas will bring. */
function wireItem(id: string, text: string, kind: string, item: object): WireItem {
  const empty = { content: [], summary: [], arguments: '' }
  const opening = Object.fromEntries(Object.entries(item).map(([key, value]) => [key, key in empty ? Reflect.get(empty, key) : value]))
  return { id, text, deltaType: `response.${kind}.delta`, opening: { id, ...opening }, whole: { id, ...item } }
}

function responsesUsage(usage: TokenUsage) {
  return {
    input_tokens: usage.promptTokens,
    output_tokens: usage.completionTokens,
    input_tokens_details: { cached_tokens: usage.cacheTokens },
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  }
}
