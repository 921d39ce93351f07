/** Findings of a review: each fails until it is mended. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createClient } from '../../sdk/client.js'
import { defineAgent } from '../../server/agents/define-agent.js'
import { createPerdure } from '../../server/compose.js'
import { loadConfig } from '../../server/config.js'
import { scripted } from '../../server/models/scripted.js'

const rejections: unknown[] = []
const note = (reason: unknown): void => void rejections.push(String(reason instanceof Error ? reason.message : 'not an Error'))
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

async function run(model: ReturnType<typeof scripted>, onTurn: () => void | Promise<void>) {
  const dataDir = await mkdtemp(join(tmpdir(), 'rev-'))
  const config = { ...loadConfig({ env: {} }), dataDir, port: 0, databaseUrl: null, logLevel: 'error' as const }
  const server = await createPerdure({ agents: [defineAgent({ name: 'a', model, instructions: 'x' })], config, onTurn })
  const { url } = await server.listen()
  try {
    return await createClient({ url: `${url}/graphql` })
      .agent('a')
      .send('x')
      .result({ timeoutMs: 4000 })
  } finally {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

test('an onTurn that rejects is logged and does not end the process', async () => {
  await run(
    scripted(() => 'ok'),
    async () => Promise.reject(new Error('metrics are down')),
  )
  expect(rejections).toEqual([])
})

test('a model that throws what cannot be made a string fails its turn, not the process', async () => {
  const result = await run(
    scripted(() => {
      throw Object.create(null)
    }),
    () => undefined,
  ).catch((thrown: unknown) => String(thrown))
  expect({ result, rejections }).toMatchObject({ result: { status: 'failed' }, rejections: [] })
})
