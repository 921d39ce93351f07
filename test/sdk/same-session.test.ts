/** Two clients that share no code read one session while it runs: they are told the same. */
import { createClient as createSseClient } from 'graphql-sse'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClient } from '../../sdk/index.js'
import { startApi, type Api } from '../graphql/api.js'

const QUERY = `subscription ($id: ID!) {
  sessionEvents(session: { id: $id }, after: "0") { ... on SessionEventsBatch { events { id type cursor } } }
}`
const HEADERS = { 'x-caller': 'ann' }

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

async function readRaw(id: string): Promise<readonly string[]> {
  const client = createSseClient({ url: api.url, headers: HEADERS, retryAttempts: 0 })
  const seen: string[] = []
  for await (const message of client.iterate<{ sessionEvents: { events?: readonly { id: string; type: string }[] } }>({
    query: QUERY,
    variables: { id },
  })) {
    for (const event of message.data?.sessionEvents.events ?? []) seen.push(`${event.id} ${event.type}`)
  }
  return seen
}

it('a raw graphql-sse client and the SDK see each event of a session once, in the same order', async () => {
  const client = createClient({ url: api.url, headers: HEADERS })
  const session = await client.sessions.create({ agent: 'hello' })
  const raw = readRaw(session.id)
  const sdk = (async () => {
    const seen: string[] = []
    for await (const event of session.events({ after: '0' })) seen.push(`${event.id} ${event.type}`)
    return seen
  })()
  await session.send('one').result()
  await session.send('two').result()
  await session.end()
  expect(await raw).toEqual(await sdk)
  expect(new Set(await sdk).size).toBe((await sdk).length)
  expect((await sdk).at(-1)).toMatch(/SESSION_COMPLETED$/)
})
