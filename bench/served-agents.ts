/**
 * What the bench's server processes serve: `bench`, whose model is in the process and answers at once, and `echo`, whose model is the bench's
 * server for models, over HTTP.
 */
import { defineAgent, defineTool, openaiChat, scripted } from 'perdure'
import { z } from 'zod'

const model = process.env['PERDURE_BENCH_MODEL'] ?? 'http://127.0.0.1:9'

export const bench = defineAgent({
  name: 'bench',
  instructions: 'You tell the time.',
  model: scripted(() => ({ text: 'It is noon, and all is well.', usage: null }), { tokensPerChunk: Infinity }),
})

export const echo = defineAgent({
  name: 'echo',
  // The model server tells the bench who called.
  instructions: `You are process ${String(process.pid)}. Answer briefly.`,
  model: openaiChat({ model: 'bench', baseUrl: `${model}/v1`, apiKey: 'none' }),
  tools: {
    echo: defineTool({
      description: 'Echoes the text.',
      input: z.object({ text: z.string() }),
      execute: ({ text }) => ({ text }),
    }),
    charge: defineTool({
      description: 'Charges a card. Must never happen twice.',
      input: z.object({ id: z.string() }),
      async execute({ id }, { signal }) {
        await fetch(`${model}/charge?id=${id}&process=${String(process.pid)}`, { method: 'POST', signal })
        return 'charged'
      },
    }),
  },
})
