import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient } from '../sdk/client.js'
import { askUser } from '../server/agents/ask-user.js'
import { defineAgent } from '../server/agents/define-agent.js'
import { createPerdure, type PerdureOptions, type RequestSummary, type TurnSummary } from '../server/compose.js'
import { loadConfig, type Config } from '../server/config.js'
import { scripted } from '../server/models/scripted.js'
import { silentLog } from './support/silent-log.js'

let cwd: string
let config: Config
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'compose-'))
  config = { ...loadConfig({ env: {}, cwd }), port: 0 }
})
afterEach(() => rm(cwd, { recursive: true, force: true }))

describe('a process', () => {
  const rejections: unknown[] = []
  const note = (reason: unknown): void => void rejections.push(reason)
  let kept: NodeJS.UnhandledRejectionListener[] = []
  beforeEach(() => {
    rejections.length = 0
    kept = process.listeners('unhandledRejection')
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', note)
  })
  afterEach(() => {
    process.removeAllListeners('unhandledRejection')
    for (const one of kept) process.on('unhandledRejection', one)
  })

  async function converse(model: ReturnType<typeof scripted>, options: Pick<PerdureOptions, 'onTurn' | 'onRequest' | 'log'>) {
    const server = await createPerdure({
      log: silentLog(),
      ...options,
      agents: [defineAgent({ name: 'a', model, instructions: 'x', tools: { ask_user: askUser() } })],
      config,
    })
    const { url } = await server.listen()
    try {
      return await createClient({ url: `${url}/graphql` })
        .agent('a')
        .send('x')
        .result({ timeoutMs: 4000 })
    } finally {
      await server.stop()
    }
  }

  test.each([
    [
      'throws',
      () => {
        throw new Error('metrics are down')
      },
    ],
    ['rejects', () => Promise.reject(new Error('metrics are down'))],
  ] satisfies [string, () => void | Promise<void>][])('goes on when onTurn %s, and logs it', async (_, onTurn) => {
    const warned: unknown[] = []
    const log = silentLog({ warn: (...line) => void warned.push(line) })
    const told: TurnSummary[] = []
    const result = await converse(
      scripted(() => 'ok'),
      {
        log,
        onTurn: (turn) => {
          told.push(turn)
          return onTurn()
        },
      },
    )
    expect(result).toMatchObject({ status: 'completed', text: 'ok' })
    expect(warned).toEqual([['onTurn failed', { err: new Error('metrics are down'), session: told[0]?.sessionId }]])
    expect(rejections).toEqual([])
  })

  test('tells of what a turn asks, and goes on when whoever is told throws', async () => {
    const warned: unknown[] = []
    const told: RequestSummary[] = []
    const model = scripted(() => ({ calls: [{ name: 'ask_user', input: { question: 'Well?' } }] }))
    const result = await converse(model, {
      log: silentLog({ warn: (...line) => void warned.push(line) }),
      onRequest: (request) => {
        told.push(request)
        throw new Error('the pager is down')
      },
    })
    expect(result).toMatchObject({ status: 'waiting', requests: [{ prompt: 'Well?' }] })
    expect(told).toMatchObject([{ agent: 'a', kind: 'QUESTION', prompt: 'Well?', reviewers: [] }])
    expect(warned).toEqual([['onRequest failed', { err: new Error('the pager is down'), session: told[0]?.sessionId }]])
  })

  test('goes on when a model throws what cannot be made a string: its turn fails', async () => {
    const model = scripted(() => {
      throw Object.create(null)
    })
    expect(await converse(model, {})).toMatchObject({ status: 'failed' })
    expect(rejections).toEqual([])
  })
})

describe('a server that cannot be made', () => {
  test('names the agent whose model has no key', async () => {
    const clerk = defineAgent({ name: 'clerk', model: 'openai/gpt-5', instructions: 'x' })
    await expect(createPerdure({ agents: [clerk], config })).rejects.toThrow(
      expect.objectContaining({
        code: 'MODEL_NOT_CONFIGURED',
        message: expect.stringContaining('Agent "clerk" wants openai/gpt-5, but OPENAI_API_KEY is not set.'),
      }),
    )
  })

  test('leaves nothing running behind, also when it fails after sessions began to be driven', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const warned: unknown[] = []
    let reads = 0
    const options: PerdureOptions = {
      agents: [defineAgent({ name: 'a', model: scripted(), instructions: 'x' })],
      config,
      log: silentLog({ warn: (...line) => void warned.push(line) }),
      // Asked first by the configuration, and then by what answers requests.
      get authenticate() {
        reads += 1
        if (reads > 1) throw new Error('no keys to sign in with')
        return () => null
      },
    }
    try {
      await expect(createPerdure(options)).rejects.toThrow('no keys to sign in with')
      expect(vi.getTimerCount()).toBe(0)
      expect(warned).toEqual([])
    } finally {
      vi.useRealTimers()
    }
    const again = await createPerdure({ agents: options.agents, config, log: silentLog() })
    await again.stop()
  })
})
