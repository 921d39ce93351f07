import { readdir, readFile } from 'node:fs/promises'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { answer } from '../../examples/agents/support-script.js'
import { loadAgents } from '../../server/agents/load-agents.js'
import * as perdure from '../../server/index.js'
import { createRegistry } from '../../server/agents/registry.js'
import { createIdSource } from '../../server/ids.js'
import { resolveModel } from '../../server/models/resolve-model.js'
import type { AgentPort, ToolPort } from '../../server/session/agent-port.js'
import { converse } from './converse.js'
import { createGate, start } from './tool-run.js'

const FOLDER = 'examples/agents'
const settings = { openaiApiKey: undefined, openaiBaseUrl: undefined }

/** A fresh shop each time: loading again reads the files again. */
async function load(name: string): Promise<AgentPort> {
  const agent = createRegistry(await loadAgents(FOLDER, { perdure }), (spec) => resolveModel(spec, settings)).get(name)
  if (agent === undefined) throw new Error(`no agent ${name}`)
  return agent
}

beforeEach(() => {
  vi.unstubAllEnvs()
  for (const name of ['OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL']) vi.stubEnv(name, undefined)
})

describe('hello', () => {
  test('greets, and needs no key', async () => {
    expect((await converse(await load('hello'), 'What can you do?')).text).toMatch(/^Hello!/)
  })
})

describe('support', () => {
  test('greets and says what it can do', async () => {
    expect((await converse(await load('support'), 'Hi')).text).toContain('"Where is order 1042?"')
  })

  test('looks an order up and tells what it found', async () => {
    const { text, steps } = await converse(await load('support'), 'Where is order 1042?')
    expect(steps).toMatchObject([[{ name: 'lookup_order', input: { order: '1042' }, label: 'Looking up order 1042', idempotent: true }]])
    expect(text).toBe('Order 1042 (a walnut coffee table) is on its way, and arrives tomorrow before noon.')
  })

  test('looks several up side by side', async () => {
    const { text, steps } = await converse(await load('support'), 'Where are 1041 and 1043?')
    expect(steps.map((calls) => calls.length)).toEqual([2])
    expect(text.split('\n')).toHaveLength(2)
  })

  test('refunds an order once, by a call that never runs twice on our account', async () => {
    const support = await load('support')
    const { text, steps } = await converse(support, 'Refund order 1042')
    expect(steps).toMatchObject([[{ name: 'refund', idempotent: false }]])
    expect(text).toBe('Order 1042 is refunded: 240 € are on their way back to you.')
    expect((await converse(support, 'Where is order 1042?')).text).toContain('is refunded')
    expect((await converse(support, 'Refund order 1042')).text).toBe('That did not work: order 1042 was refunded before.')
  })

  test('says so when an order is not there', async () => {
    expect((await converse(await load('support'), 'Where is order 9999?')).text).toMatch(
      /^That did not work: there is no order 9999; there are 1040, /,
    )
  })

  test('checks the warehouse slowly, shows how far it is, and stops when told', async () => {
    const tool = (await load('support')).tools.get('check_warehouse')
    if (tool === undefined) throw new Error('no check_warehouse')
    const { opened: reported, open } = createGate()
    const seen: unknown[] = []
    const run: ToolPort['run'] = (input, context, progress) =>
      tool.run(input, context, (output) => {
        seen.push(output)
        progress(output)
        open()
      })
    const running = start({ ...tool, run })
    await reported
    running.abort()
    expect((await running.ended).status).toBe('CANCELLED')
    expect(seen).toEqual([{ shelf: 'lamps', done: 0, of: 4 }])
  })

  test('tells what the warehouse has', () => {
    const text = JSON.stringify([
      { shelf: 'lamps', pieces: 12 },
      { shelf: 'glasses', pieces: 0 },
    ])
    const result = { role: 'tool', callId: createIdSource().next('call'), name: 'check_warehouse', text, isError: false } as const
    const wait = (): Promise<void> => Promise.resolve()
    const { signal } = new AbortController()
    const conversation = {
      instructions: '',
      history: [],
      tools: [],
      lastUserText: 'stock?',
      userMessages: 1,
      step: 1,
      toolResults: [result],
      signal,
      wait,
    }
    expect(answer(conversation)).toBe('I counted: 12 lamps, no glasses.')
    expect(answer({ ...conversation, step: 0, toolResults: [] })).toMatchObject({ calls: [{ name: 'check_warehouse' }] })
  })

  test('tells a long story word by word', async () => {
    const { model } = await load('support')
    const controller = new AbortController()
    const words: string[] = []
    const request = { instructions: '', history: [{ role: 'user', text: 'Tell me a long story' }] as const, tools: [], cacheKey: 'test' }
    const told = (async () => {
      for await (const chunk of model.stream(request, { signal: controller.signal })) {
        if (chunk.type === 'text' && words.push(chunk.text) === 5) controller.abort(new Error('enough'))
      }
    })()
    await expect(told).rejects.toThrow('enough')
    expect(words.join('')).toMatch(/^There was once a carpenter/)
  })
})

test('a configured provider is used instead of the script', async () => {
  vi.stubEnv('OPENAI_API_KEY', 'sk-test')
  expect((await loadAgents(FOLDER, { perdure })).map(({ model }) => model)).toEqual(['openai/gpt-5-mini', 'openai/gpt-5-mini'])
  vi.stubEnv('OPENAI_MODEL', 'gpt-5')
  expect((await loadAgents(FOLDER, { perdure }))[0]?.model).toBe('openai/gpt-5')
})

test('each example file fits a screen or two', async () => {
  for (const file of await readdir(FOLDER)) {
    expect((await readFile(`${FOLDER}/${file}`, 'utf8')).split('\n').length, file).toBeLessThanOrEqual(80)
  }
})
