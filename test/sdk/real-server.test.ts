/** The same claims against the real server, over a database of its own (openTestPostgres), and what only a real one does. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AddressTakenError, createClient, type Client } from '../../sdk/index.js'
import { startApi, type Api } from '../graphql/api.js'
import { sdkSuite } from './sdk-suite.js'

sdkSuite('the real server', async () => {
  const api = await startApi()
  return { url: api.url, agent: 'hello', headers: { 'x-caller': 'ann' }, close: () => api.close() }
})

describe('a session of the SDK', () => {
  let api: Api
  let client: Client
  beforeAll(async () => {
    api = await startApi()
    client = createClient({ url: api.url, headers: { 'x-caller': 'ann' } })
  })
  afterAll(() => api.close())

  it('is stopped in mid-turn; what was queued goes on', async () => {
    const first = client.agent('hello').send('hang')
    const { session } = await first.accepted
    for await (const event of first) if (event.type === 'LLM_CHUNK') break
    const later = session.send('and then', { turnPolicy: 'QUEUE' })
    await later.accepted
    await session.cancel()
    expect(await first.result()).toMatchObject({ status: 'cancelled', number: 1 })
    expect(await later.result()).toMatchObject({ status: 'completed', number: 2 })
  })

  it('is cleared: its transcript begins anew', async () => {
    const turn = client.agent('hello').send('a secret')
    await turn.result()
    const { session } = await turn.accepted
    expect(await session.clear()).toMatchObject({ delivery: { kind: 'CLEAR' }, duplicate: false })
    await session.send('anew').result()
    expect((await session.transcript())?.map(({ text }) => text)).not.toContain('a secret')
    const shown = (await session.messages().next()).value
    expect(shown?.messages).toMatchObject([{ role: 'user', text: 'anew' }, { role: 'assistant' }])
    expect(shown?.turns).toMatchObject([{ number: 2, status: 'completed' }])
    expect(await session.compact({ instructions: 'keep all' })).toMatchObject({ delivery: { kind: 'COMPACT' } })
  })

  it('claims and releases addresses', async () => {
    const session = await client.sessions.create({ agent: 'hello' })
    expect((await session.claimAddress('sdk:one')).addresses).toEqual(['sdk:one'])
    expect((await client.sessions.getByAddress('sdk:one'))?.id).toBe(session.id)
    const other = await client.sessions.create({ agent: 'hello' })
    await expect(other.claimAddress('sdk:one')).rejects.toThrow(AddressTakenError)
    expect((await session.releaseAddress('sdk:one')).addresses).toEqual([])
    expect((await other.claimAddress('sdk:one')).addresses).toEqual(['sdk:one'])
  })

  it('is one task, or ends after a while, when it is created so', async () => {
    const session = await client.sessions.create({ agent: 'hello', mode: 'TASK', sessionTimeoutMs: 60_000 })
    const info = await session.get()
    expect(info).toMatchObject({ mode: 'TASK', expiresAt: expect.any(String) as string })
    await session.send('do it').result()
    expect(await session.get()).toMatchObject({ status: 'COMPLETED', endReason: 'TASK_FINISHED', expiresAt: null })
  })
})
