/** The probes and figures of whole servers, over HTTP, on PostgreSQL and Redis. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createClient } from '../../sdk/client.js'
import { defineAgent } from '../../server/agents/define-agent.js'
import { defineTool } from '../../server/agents/define-tool.js'
import { createPerdure } from '../../server/compose.js'
import { loadConfig } from '../../server/config.js'
import { scripted } from '../../server/models/scripted.js'
import { openTestPostgres } from '../support/databases.js'
import { TEST_REDIS_URL, removeKeys, uniquePrefix } from '../support/redis.js'
import { findFreePort } from '../support/server-process.js'
import { silentLog } from '../support/silent-log.js'
import { samplesOf } from './metrics-on-a-clock.js'

let database: Awaited<ReturnType<typeof openTestPostgres>>
const prefix = uniquePrefix()
const closers: (() => unknown)[] = []
beforeAll(async () => {
  database = await openTestPostgres()
})
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})
afterAll(async () => {
  await database.close()
  await removeKeys(prefix)
})

/** Its one tool runs until the test lets it. */
function holdable() {
  const gate = { isReached: (): void => undefined, open: (): void => undefined }
  const reached = new Promise<void>((resolve) => (gate.isReached = resolve))
  const opened = new Promise<void>((resolve) => (gate.open = resolve))
  const hold = defineTool({
    description: 'Holds.',
    input: { type: 'object' },
    execute: async () => {
      gate.isReached()
      await opened
      return 'held'
    },
  })
  const model = scripted(({ lastUserText, step }) => (lastUserText === 'hold' && step === 0 ? { calls: [{ name: 'hold' }] } : 'ok'))
  return { agent: defineAgent({ name: 'clerk', model, instructions: 'x', tools: { hold } }), reached, open: () => gate.open() }
}

async function start(env: Readonly<Record<string, string>> = {}, agent = holdable().agent) {
  const all = { DATABASE_URL: database.url, REDIS_URL: TEST_REDIS_URL, PERDURE_REDIS_PREFIX: prefix, ...env }
  const config = { ...loadConfig({ env: all, cwd: '/' }), port: 0 }
  const server = await createPerdure({ agents: [agent], config, log: silentLog() })
  closers.push(() => server.stop())
  const { url } = await server.listen()
  return {
    url,
    stop: () => server.stop(),
    ready: async () => {
      const response = await fetch(`${url}/readyz`)
      return { code: response.status, ...(await response.json()) }
    },
    samples: async () => samplesOf(await (await fetch(`${url}/metrics`)).text()),
  }
}

test('a server counts what it does', async () => {
  const { url, ready, samples } = await start()
  expect(await ready()).toMatchObject({ code: 200, checks: { redis: { status: 'ok' }, polling: { status: 'ok' } } })
  await createClient({ url: `${url}/graphql` })
    .agent('clerk')
    .send('x')
    .result({ timeoutMs: 15_000 })
  const after = await samples()
  expect(after.get('perdure_claims_total{outcome="driven"}')).toBe(1)
  expect(after.get('perdure_turn_duration_seconds_count{agent="clerk",outcome="completed"}')).toBe(1)
  expect(after.get('perdure_tokens_total{agent="clerk",kind="completion"}')).toBeGreaterThan(0)
  expect(after.get('perdure_events_written_total')).toBeGreaterThan(3)
  expect(after.get('perdure_redis_up')).toBe(1)
  expect(after.get('perdure_poll_age_seconds')).toBeLessThan(10)
})

test('a session that is driven is active; a server that stops is unready while it still drives it', async () => {
  const { agent, reached, open } = holdable()
  const { url, ready, samples, stop } = await start({}, agent)
  const send = '{ to: { address: { address: "test:1", create: { agent: "clerk" } } }, message: { text: "hold" } }'
  const body = JSON.stringify({ query: `mutation { send(input: ${send}) { __typename } }` })
  await fetch(`${url}/graphql`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  await reached
  expect((await samples()).get('perdure_active_sessions')).toBe(1)
  const stopped = stop()
  expect(await ready()).toMatchObject({ code: 503, checks: { process: { status: 'failed' } } })
  open()
  await stopped
})

test('a worker answers its probes, and GraphQL with where to ask', async () => {
  const { url, ready } = await start({ PERDURE_ROLE: 'worker' })
  expect(await ready()).toMatchObject({ code: 200 })
  const response = await fetch(`${url}/graphql`, { method: 'POST', body: '{}' })
  expect({ status: response.status, body: await response.json() }).toEqual({
    status: 404,
    body: { error: expect.stringContaining('a worker'), mend: expect.any(String) },
  })
})

test('without Redis a server is ready and says that it is worse off; one that answers requests only does not poll', async () => {
  const { ready, samples } = await start({ PERDURE_ROLE: 'api', REDIS_URL: `redis://127.0.0.1:${await findFreePort()}` })
  const answer = await ready()
  expect(answer).toMatchObject({ code: 200, checks: { redis: { status: 'degraded' } } })
  expect(answer.checks).not.toHaveProperty('polling')
  expect((await samples()).get('perdure_redis_up')).toBe(0)
})
