/** Agents whose tools leave a trace outside of Perdure, and wait until the test lets them go. */
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { defineAgent, defineTool, scripted } from 'perdure'
import { z } from 'zod'

const folder = process.env['PERDURE_TEST_FOLDER'] ?? '.'
const STORY = Array.from({ length: 60 }, (_, index) => `word${String(index)}`).join(' ')

function tool(name: string, options: { readonly idempotent: boolean; readonly gate: string | null }) {
  return defineTool({
    description: `Leaves a trace of ${name}.`,
    input: z.object({}),
    idempotent: options.idempotent,
    async execute(_input, { callId, signal }) {
      appendFileSync(join(folder, 'calls.log'), `${name} ${callId}\n`)
      while (options.gate !== null && !existsSync(join(folder, options.gate))) await wait(10, undefined, { signal })
      return `${name} done`
    },
  })
}

export default defineAgent({
  name: 'crash',
  instructions: 'Do what the test says.',
  model: scripted(({ lastUserText, step }) => {
    if (lastUserText === 'story') return { text: STORY, delayMs: 15 }
    if (step > 0) return `done after step ${String(step)}`
    if (lastUserText === 'charge') return { calls: [{ name: 'charge', input: {} }] }
    if (lastUserText === 'look') return { calls: [{ name: 'look', input: {} }] }
    if (lastUserText === 'both')
      return {
        calls: [
          { name: 'quick', input: {} },
          { name: 'charge', input: {} },
        ],
      }
    return `you said: ${lastUserText}`
  }),
  tools: {
    quick: tool('quick', { idempotent: false, gate: null }),
    charge: tool('charge', { idempotent: false, gate: 'gate' }),
    look: tool('look', { idempotent: true, gate: 'gate' }),
  },
})
