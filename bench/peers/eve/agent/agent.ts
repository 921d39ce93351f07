import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { defineAgent } from 'eve'

const models = createOpenAICompatible({
  name: 'bench',
  baseURL: `${process.env['PERDURE_BENCH_MODEL'] ?? 'http://127.0.0.1:9'}/v1`,
  apiKey: 'none',
  includeUsage: true,
})

/** With so large a window no history is ever compacted: both sides read all of it. */
export default defineAgent({ model: models('bench'), modelContextWindowTokens: 1_000_000 })
