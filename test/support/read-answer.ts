/** Reads a model's answer to its end, and puts its pieces together by their keys. */
import type { FinishReason, ModelChunk, ModelClient, ModelRequest } from '../../server/session/model.js'
import type { TokenUsage } from '../../server/session/usage.js'
import { sampleRequest } from './sample-request.js'

export interface ReadAnswer {
  readonly chunks: readonly ModelChunk[]
  readonly text: string
  readonly reasoning: string
  /** In the order of their first piece. */
  readonly calls: readonly { readonly name: string; readonly raw: string }[]
  readonly usage: TokenUsage | null
  readonly finish: FinishReason | null
}

export async function readAnswer(
  client: ModelClient,
  request: ModelRequest = sampleRequest(),
  signal: AbortSignal = new AbortController().signal,
): Promise<ReadAnswer> {
  const chunks: ModelChunk[] = []
  for await (const chunk of client.stream(request, { signal })) chunks.push(chunk)
  const calls = new Map<string, { readonly name: string; readonly raw: string }>()
  for (const chunk of chunks) {
    if (chunk.type === 'tool-input') calls.set(chunk.key, { name: chunk.name, raw: (calls.get(chunk.key)?.raw ?? '') + chunk.text })
  }
  const usages = chunks.filter((chunk) => chunk.type === 'usage')
  const finishes = chunks.filter((chunk) => chunk.type === 'finish')
  return {
    chunks,
    text: joined(chunks, 'text'),
    reasoning: joined(chunks, 'reasoning'),
    calls: [...calls.values()],
    usage: usages.at(-1)?.usage ?? null,
    finish: finishes.at(-1)?.reason ?? null,
  }
}

function joined(chunks: readonly ModelChunk[], type: 'text' | 'reasoning'): string {
  return chunks.map((chunk) => (chunk.type === type ? chunk.text : '')).join('')
}
