import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClient } from '../../sdk/client.js'
import { GraphqlRequestError, NetworkError, PerdureError, TimeoutError } from '../../sdk/errors.js'
import { startFaultyProxy, type FaultyProxy } from '../support/faulty-proxy.js'
import { brand, USER } from './fake-log.js'
import { startFakeServer, type FakeServer } from './fake-server.js'
import { fastClient, type Waits } from './fast-client.js'
import { collect } from './sdk-suite.js'

let server: FakeServer
let proxy: FaultyProxy
beforeEach(async () => {
  server = await startFakeServer()
  proxy = await startFaultyProxy(server.url)
})
afterEach(async () => {
  await proxy.close()
  await server.close()
})

/** Answers the first requests with a status, then lets the server answer. */
function refuseFirst(count: number, status: number, headers: Record<string, string> = {}): void {
  let left = count
  server.intercept((_, response) => {
    if (left-- <= 0) return false
    response.writeHead(status, headers).end('later')
    return true
  })
}

describe('a request', () => {
  it('whose answer is lost, at whatever byte, is made again and delivers once (T1)', async () => {
    const session = fastClient(proxy.url).session((await fastClient(server.url).sessions.create({ agent: 'echo' })).id)
    let sent = 0
    for (let afterBytes = 0; afterBytes < 700; afterBytes += 20) {
      await proxy.resetAll()
      proxy.add({ kind: 'cut', afterBytes })
      const { delivery } = await session.send(`message ${afterBytes}`).accepted
      sent += 1
      expect(delivery.text).toBe(`message ${afterBytes}`)
      expect(server.delivered()).toBe(sent)
    }
  })

  it.each([429, 502, 503, 504])('answered with %i is made again', async (status) => {
    refuseFirst(2, status)
    const waits: Waits = { waitedMs: [] }
    await fastClient(server.url, {}, waits).agents.list()
    expect(waits.waitedMs).toHaveLength(2)
  })

  it('waits as long as the server asks for', async () => {
    refuseFirst(1, 503, { 'retry-after': '7' })
    const waits: Waits = { waitedMs: [] }
    await fastClient(server.url, {}, waits).agents.list()
    expect(waits.waitedMs).toEqual([7_000])
  })

  it('is given up after a bounded number of tries, with what a person needs to know', async () => {
    refuseFirst(Infinity, 502)
    const error = await fastClient(server.url)
      .agents.list()
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(NetworkError)
    expect(error).toMatchObject({
      code: 'NETWORK',
      status: 502,
      attempts: 6,
      url: server.url,
      message: `${server.url}: the server answered 502, tried 6 times`,
    })
  })

  it('whose answer is late, but in time, is made once', async () => {
    let release = (): void => undefined
    proxy.add({ kind: 'delay', until: new Promise((resolve) => (release = resolve)) })
    const agents = fastClient(proxy.url).agents.list()
    await expect.poll(() => server.operations).toEqual(['ListAgents'])
    release()
    expect(await agents).toHaveLength(1)
    expect(proxy.connections()).toBe(1)
  })

  it('that nobody answers is given up in time, and made again', async () => {
    proxy.add({ kind: 'stall', afterBytes: 0 })
    expect(await fastClient(proxy.url, { requestTimeoutMs: 1_000 }).agents.list()).toHaveLength(1)
    expect(proxy.connections()).toBe(2)
  })

  it('is never repeated for a mutation of your own, unless you say so', async () => {
    const document = 'mutation Mine { createSession(input: { session: { agent: "echo" } }) { __typename } }'
    refuseFirst(1, 503)
    await expect(fastClient(server.url).graphql(document, {})).rejects.toThrow(NetworkError)
    refuseFirst(1, 503)
    expect(await fastClient(server.url).graphql(document, {}, { retry: true })).toEqual({
      createSession: { __typename: 'CreateSessionPayload' },
    })
    refuseFirst(1, 503)
    expect(await fastClient(server.url).graphql('{ agents { name } }', {})).toEqual({ agents: [{ name: 'echo' }] })
  })

  it('brings its headers and asks for its token anew each time (T2)', async () => {
    let count = 0
    const client = fastClient(server.url, { token: () => `t${++count}`, headers: { 'x-mine': '1' } })
    refuseFirst(1, 503)
    await client.agents.list()
    expect(server.credentials).toEqual(['Bearer t1', 'Bearer t2'])
    const failing = fastClient(server.url, {
      headers: () => {
        throw new Error('the vault is shut')
      },
    })
    await expect(failing.agents.list()).rejects.toThrow('could not be had: the vault is shut')
  })

  it('that the server finds wrong is told in its words', async () => {
    const error = await createClient({ url: server.url })
      .graphql('{ nonsense }', {})
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(GraphqlRequestError)
    expect(error).toMatchObject({ status: 400, message: expect.stringContaining('nonsense') })
  })
})

describe('a turn', () => {
  it('that failed is a result', async () => {
    const result = await fastClient(server.url).agent('failing').send('try').result()
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_REFUSED' }, text: '' })
  })

  it('that was open already ends the message that joined it (H1)', async () => {
    const turn = fastClient(server.url).agent('quiet').send('and another thing')
    const { session, delivery } = await turn.accepted
    const stored = server.log.find(session.id)
    const inTurn = { turnId: 'turn_open' }
    const result = turn.result()
    server.log.append(stored, 'TURN_RESUMED', { cause: 'of before' }, inTurn)
    server.log.append(stored, 'MESSAGE_RECEIVED', { delivery: brand(delivery.id), text: delivery.text ?? '', by: USER }, inTurn)
    server.log.append(stored, 'TURN_CANCELLED', { ...END, reason: 'somebody else’s' }, { turnId: 'turn_other' })
    server.log.append(stored, 'TURN_CANCELLED', { ...END, reason: 'enough' }, inTurn)
    expect(await result).toMatchObject({ status: 'cancelled', turnId: 'turn_open', number: 3, reason: 'enough', text: 'so far' })
    expect((await collect(turn)).map((event) => event.type)).toEqual(['MESSAGE_RECEIVED', 'TURN_CANCELLED'])
  })

  it('that will not be, since the message was rejected, is a result too (H2)', async () => {
    const turn = fastClient(server.url).agent('dropping').send('hello')
    expect(await turn.result()).toMatchObject({ status: 'rejected', reason: 'cleared' })
    expect((await collect(turn)).map((event) => event.type)).toEqual(['DELIVERY_SETTLED'])
  })

  it('is found again by its key, however long ago it was (H3)', async () => {
    const client = fastClient(server.url)
    const session = await client.sessions.create({ agent: 'echo' })
    const first = await session.send('long ago', { idempotencyKey: 'mine' }).result()
    const stored = server.log.find(session.id)
    for (let at = 0; at < 250; at += 1)
      server.log.append(stored, 'DELIVERY_SETTLED', { delivery: brand(`dlv_other_${at}`), status: 'APPLIED', turn: null, reason: null })
    expect(await session.send('long ago', { idempotencyKey: 'mine' }).result()).toEqual(first)
    expect(server.operations.filter((name) => name === 'SessionLog')).toHaveLength(3)
  })

  it('is waited for no longer than asked, and goes on', async () => {
    const turn = fastClient(server.url).agent('held').send('slow')
    const { session } = await turn.accepted
    await expect(turn.result({ timeoutMs: 50 })).rejects.toThrow(TimeoutError)
    await expect(turn.result({ signal: AbortSignal.abort(new Error('not now')) })).rejects.toThrow('not now')
    server.log.release()
    expect(await turn.result()).toMatchObject({ status: 'completed' })
    expect(server.log.find(session.id).deliveries).toHaveLength(1)
  })

  it('of a send that fails throws from whatever is awaited, and nowhere else', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown): void => void unhandled.push(reason)
    process.on('unhandledRejection', note)
    const turn = fastClient(server.url).session('ses_none').send('hello')
    await new Promise((resolve) => setImmediate(resolve))
    await expect(turn.accepted).rejects.toThrow(PerdureError)
    await expect(turn.result()).rejects.toThrow('there is no session ses_none')
    await expect(collect(turn)).rejects.toThrow('there is no session ses_none')
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })
})

describe('the live conversation', () => {
  it('is given once when it has been read, and then as it grows', async () => {
    const client = fastClient(server.url)
    const session = await client.sessions.create({ agent: 'echo' })
    await session.send('one').result()
    const states = session.messages()
    const first = await states.next()
    expect(first.done === true ? [] : first.value.messages.map((message) => message.role)).toEqual(['user', 'assistant'])
    void session.send('two')
    const texts: string[] = []
    for await (const { messages, turns } of states) {
      const last = messages.at(-1)
      if (last?.role === 'assistant' && last.parts[0]?.type === 'text') texts.push(last.parts[0].text)
      if (turns.length === 2 && turns[1]?.status === 'completed') break
    }
    expect(texts.at(-1)).toBe('you said: two')
    expect(texts.every((text) => 'you said: two'.startsWith(text) || text === 'you said: one')).toBe(true)
  })
})

const USAGE = { promptTokens: 1, completionTokens: 1, cacheTokens: null, reasoningTokens: null, costUsd: null, incomplete: false }
const END = { output: 'so far', error: null, usage: USAGE, latencyMs: 1 }
