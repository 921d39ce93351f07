import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineAgent, isAgent } from '../../server/agents/define-agent.js'
import { defineTool } from '../../server/agents/define-tool.js'
import { createRegistry, type ResolveModel } from '../../server/agents/registry.js'
import { PerdureError } from '../../server/errors.js'
import { scripted } from '../../server/models/scripted.js'

const resolve: ResolveModel = (spec) => (typeof spec === 'string' ? scripted(undefined, { name: spec }) : spec)
const refund = defineTool({
  description: 'Refunds.',
  input: z.object({ order: z.string() }),
  output: z.object({ done: z.boolean() }),
  timeoutMs: 900,
  execute: () => ({ done: true }),
})
const support = defineAgent({
  name: 'support',
  description: 'Helps.',
  model: 'openai/gpt-5-mini',
  instructions: () => Promise.resolve('Help.'),
  tools: { refund },
})
const hello = defineAgent({ name: 'hello', model: scripted(), instructions: 'Greet.' })

describe('a registry', () => {
  const registry = createRegistry([support, hello], resolve)

  test('gives what the heart drives', async () => {
    const port = registry.get('support')
    expect(port?.model.name).toBe('openai/gpt-5-mini')
    expect(await port?.instructions()).toBe('Help.')
    expect(port?.tools.get('refund')).toMatchObject({ name: 'refund', idempotent: false, sequential: false, timeoutMs: 900 })
    expect(port?.limits.maxIterationsPerTurn).toBe(200)
    expect(registry.get('hello')?.model).toBe(hello.model)
    expect(registry.get('nobody')).toBeUndefined()
  })

  test('describes its agents to clients, sorted by name', () => {
    expect(registry.names).toEqual(['hello', 'support'])
    expect(registry.describe()).toMatchObject([
      { id: 'agt_hello', name: 'hello', description: null, model: 'scripted', tools: [] },
      {
        id: 'agt_support',
        description: 'Helps.',
        model: 'openai/gpt-5-mini',
        limits: { turnTimeoutMs: 1_800_000 },
        tools: [
          {
            name: 'refund',
            description: 'Refunds.',
            idempotent: false,
            inputSchema: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
            outputSchema: { type: 'object', properties: { done: { type: 'boolean' } } },
          },
        ],
      },
    ])
  })

  test('shows nothing but JSON', () => {
    expect(JSON.parse(JSON.stringify(registry.describe()))).toEqual(registry.describe())
  })
})

test('two agents of one name are refused', () => {
  expect(() => createRegistry([hello, defineAgent({ name: 'hello', model: 'x/y', instructions: '' })], resolve)).toThrow(
    expect.objectContaining({ code: 'AGENT_INVALID', message: 'two agents are called "hello"; give one of them another name' }),
  )
})

test('a model that cannot be resolved is said at once, with who asked', () => {
  const asked: string[] = []
  const refuse: ResolveModel = (_, agent) => {
    asked.push(agent)
    throw new PerdureError('MODEL_NOT_CONFIGURED', 'no key')
  }
  expect(() => createRegistry([support], refuse)).toThrow(expect.objectContaining({ code: 'MODEL_NOT_CONFIGURED' }))
  expect(asked).toEqual(['support'])
})

test.each([() => 7, () => Promise.resolve(7)])('instructions that are no text are a fault that names the agent', async (instructions) => {
  const odd: unknown = Reflect.apply(defineAgent, null, [{ name: 'odd', model: 'x/y', instructions }])
  const port = createRegistry(isAgent(odd) ? [odd] : [], resolve).get('odd')
  const read = Promise.resolve().then(() => port?.instructions())
  await expect(read).rejects.toThrow('agent "odd": its function for instructions must give a text, and gave number')
})
