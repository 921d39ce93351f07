/**
 * One call of the model: streams what it says into the log and gathers it, so that it can be told at any moment what was said so far.
 * Never throws: a failure is an outcome.
 */
import { toMessage, type Failure } from '../../errors.js'
import type { Clock } from '../../clock.js'
import type { CallId, IdSource } from '../../ids.js'
import type { ModelStep, OpenTurn } from '../checkpoint.js'
import type { StreamedFact } from '../events.js'
import type { HistoryItem } from '../history.js'
import { ModelError, type FinishReason, type ModelChunk, type ModelTool } from '../model.js'
import type { Block, ModelAnswered, ModelFailed } from '../outcomes.js'
import type { AgentPort } from '../agent-port.js'
import type { EventStream } from '../ports.js'
import type { TokenUsage } from '../usage.js'
import { checkCall } from './check-call.js'
import type { Judge } from './judge-call.js'

export interface ModelCallOptions {
  readonly agent: AgentPort
  readonly turn: OpenTurn
  readonly step: ModelStep
  readonly cacheKey: string
  /** Valid (H1). */
  readonly history: Promise<readonly HistoryItem[]>
  /** Whether a call that it asks for may run. */
  readonly judge: Judge
  readonly stream: EventStream
  readonly ids: IdSource
  readonly clock: Clock
  readonly signal: AbortSignal
}

export interface ModelCall {
  readonly ended: Promise<ModelAnswered | ModelFailed>
  /** What it has said so far, in order. */
  said(): readonly Block[]
  /** Text or arguments of a call have been shown; reasoning alone is no answer. */
  isSpeaking(): boolean
}

export function callModel(options: ModelCallOptions): ModelCall {
  const answer = new Answer(options)
  return { ended: answer.read(), said: () => answer.blocks(), isSpeaking: () => answer.isSpeaking }
}

interface GrowingBlock {
  readonly kind: 'text' | 'reasoning'
  readonly id: Block['id']
  text: string
}
interface GrowingCall {
  readonly id: CallId
  readonly name: string
  text: string
}

class Answer {
  readonly #options: ModelCallOptions
  readonly #blocks: Map<string, GrowingBlock> = new Map()
  readonly #calls: Map<string, GrowingCall> = new Map()
  #usage: TokenUsage | null = null
  #finish: FinishReason | null = null

  constructor(options: ModelCallOptions) {
    this.#options = options
  }

  async read(): Promise<ModelAnswered | ModelFailed> {
    const { agent, step, signal, stream } = this.#options
    try {
      for await (const chunk of agent.model.stream(await this.#request(), { signal })) {
        if (signal.aborted) break
        this.#take(chunk)
        await stream.ready()
      }
      return await this.#answered()
    } catch (thrown) {
      const retryAfterMs = thrown instanceof ModelError ? thrown.retryAfterMs : null
      return { kind: 'model-failed', attempt: step.attempt, failure: toFailure(thrown), retryAfterMs }
    }
  }

  get isSpeaking(): boolean {
    return this.#calls.size > 0 || [...this.#blocks.values()].some(({ kind }) => kind === 'text')
  }

  blocks(): readonly Block[] {
    return [...this.#blocks.values()].map(({ id, kind, text }) => ({ id, kind, text }))
  }

  async #request() {
    const { agent, cacheKey } = this.#options
    const tools: readonly ModelTool[] = [...agent.tools.values()]
    // Together: one that fails while the other is awaited must not be left without a listener.
    const [instructions, history] = await Promise.all([this.#instructions(), this.#options.history])
    return { instructions, history, tools, cacheKey }
  }

  async #instructions(): Promise<string> {
    return this.#options.agent.instructions()
  }

  #take(chunk: ModelChunk): void {
    switch (chunk.type) {
      case 'text':
      case 'reasoning':
        this.#takeText(chunk.type, chunk.key, chunk.text)
        return
      case 'tool-input':
        this.#takeInput(chunk.key, chunk.name, chunk.text)
        return
      case 'usage':
        this.#usage = chunk.usage
        return
      case 'finish':
        this.#finish = chunk.reason
    }
  }

  #takeText(kind: 'text' | 'reasoning', key: string, text: string): void {
    if (text === '') return
    const known = this.#blocks.get(`${kind}:${key}`)
    const block = known ?? { kind, id: this.#options.ids.next('blk'), text: '' }
    if (known === undefined) this.#blocks.set(`${kind}:${key}`, block)
    const data = { blockId: block.id, offset: block.text.length, text }
    this.#emit(kind === 'text' ? { type: 'LLM_CHUNK', data } : { type: 'LLM_REASONING', data })
    block.text += text
  }

  #takeInput(key: string, name: string, text: string): void {
    const known = this.#calls.get(key)
    const call = known ?? { id: this.#options.ids.next('call'), name, text: '' }
    if (known === undefined) this.#calls.set(key, call)
    if (text !== '') this.#emit({ type: 'LLM_TOOL_INPUT', data: { callId: call.id, name: call.name, offset: call.text.length, text } })
    call.text += text
  }

  #emit(fact: StreamedFact): void {
    const { stream, clock, turn, step } = this.#options
    stream.emit({ ...fact, at: clock.now(), turnId: turn.id, stepIndex: step.index, attempt: step.attempt })
  }

  async #answered(): Promise<ModelAnswered> {
    const { agent, step, judge } = this.#options
    const asked = [...this.#calls.values()]
    const calls = await Promise.all(asked.map(({ id, name, text }) => checkCall({ id, tools: agent.tools, name, rawInput: text, judge })))
    const finishReason = this.#finish ?? 'OTHER'
    return { kind: 'model-answered', attempt: step.attempt, blocks: this.blocks(), calls, finishReason, usage: this.#usage }
  }
}

/** A client classifies what its provider does; anything else it throws is a fault of this process, told as such. */
function toFailure(thrown: unknown): Failure {
  if (thrown instanceof ModelError) return thrown.failure
  return { code: 'INTERNAL', message: `the model could not be called: ${toMessage(thrown)}`, retryable: false }
}
