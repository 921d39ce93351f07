/** An agent whose model and tool answer at once: what is left is the engine. */
import { systemClock } from '../server/clock.js'
import { defineAgent, type Agent } from '../server/agents/define-agent.js'
import { defineTool } from '../server/agents/define-tool.js'
import { scripted } from '../server/models/scripted.js'

export const AGENT = 'bench'
export const SIMPLE = 'Good morning'
/** Makes the model call a tool that a person has to allow. */
export const ASK = 'Ring the bell'

const NOTHING = { type: 'object', properties: {}, additionalProperties: false } as const
const ZONE = { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'], additionalProperties: false } as const

/** A message that makes the model call a tool so many times, one a step. */
export function askForSteps(steps: number): string {
  return `steps ${steps}`
}

/** `onModelCall` gets the monotonic time of each call of the model. */
export function createBenchAgent(onModelCall: (at: number) => void): Agent {
  return defineAgent({
    name: AGENT,
    instructions: 'You tell the time.',
    model: scripted(
      ({ lastUserText, step }) => {
        onModelCall(systemClock.monotonic())
        const steps = Number(/^steps (\d+)$/.exec(lastUserText)?.[1] ?? 0)
        if (lastUserText === ASK && step === 0) return { calls: [{ name: 'bell', input: {} }], usage: null }
        if (step < steps) return { calls: [{ name: 'clock', input: { zone: 'UTC' } }], usage: null }
        return { text: 'It is noon, and all is well.', usage: null }
      },
      { tokensPerChunk: Infinity },
    ),
    tools: {
      clock: defineTool({ description: 'Tells the time.', input: ZONE, execute: () => ({ hour: 12, minute: 0 }) }),
      bell: defineTool({ description: 'Rings the bell.', input: NOTHING, approval: 'always', execute: () => 'rung' }),
    },
  })
}
