/** The result of a turn that waits for people. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Client } from '../../sdk/client.js'
import { TimeoutError } from '../../sdk/errors.js'
import { startFaultyProxy } from '../support/faulty-proxy.js'
import { USER } from './fake-log.js'
import { startFakeServer, type FakeServer } from './fake-server.js'
import { fastClient } from './fast-client.js'
import { openTurn } from './given-turn.js'
import { collect } from './sdk-suite.js'

let server: FakeServer
let client: Client
beforeEach(async () => {
  server = await startFakeServer({ heartbeatMs: 20 })
  client = fastClient(server.url)
})
afterEach(() => server.close())

const lookups = () => server.operations.filter((name) => name === 'TurnWait').length

describe('the result of a turn that asks people', () => {
  it('is what it asks, once nothing of it runs; asked again, its next wait, and its end', async () => {
    const { turn, ask, say, startCall, wait, goOn, end } = await openTurn(server, client)
    const waiting = turn.result()
    say('Let me ask.')
    const first = ask({ prompt: 'Refund 240?' })
    // A call beside it runs still: that it asks is no wait.
    startCall()
    wait()
    const result = await waiting
    expect(result).toMatchObject({
      status: 'waiting',
      turnId: 'turn_1',
      number: 1,
      text: 'Let me ask.',
      requests: [{ prompt: 'Refund 240?' }],
    })
    if (result.status === 'waiting') await result.requests[0]?.approve('as agreed')
    expect(first.answer).toMatchObject({ decision: 'APPROVE', reason: 'as agreed' })
    expect(lookups()).toBe(1)

    const again = turn.result()
    server.requests.resolve(first)
    goOn()
    ask({ kind: 'QUESTION', prompt: 'Which account?', allowsText: true })
    wait('INPUT')
    const asked = await again
    expect(asked).toMatchObject({ status: 'waiting', requests: [{ kind: 'QUESTION', prompt: 'Which account?' }] })
    if (asked.status === 'waiting') await asked.requests[0]?.answer('the old one')
    const last = turn.result()
    goOn()
    end()
    expect(await last).toMatchObject({ status: 'completed', text: 'done', number: 1 })
    await expect.poll(() => server.streams()).toBe(0)
  })

  it('is the same for whoever comes when it waits already', async () => {
    const { session, ask, wait } = await openTurn(server, client)
    ask()
    wait()
    const other = fastClient(server.url).session(session.id).send('refund me', { idempotencyKey: 'refund me' })
    expect(await other.result()).toMatchObject({ status: 'waiting', number: 1, requests: [{ id: 'req_1' }] })
    expect(await other.result()).toMatchObject({ status: 'waiting', requests: [{ id: 'req_1' }] })
  })

  it('is not what somebody has answered already, although the log does not tell yet', async () => {
    const { turn, ask, wait, goOn, end } = await openTurn(server, client)
    const request = ask()
    wait()
    server.requests.accept(request, { decision: 'APPROVE' })
    const result = turn.result()
    await expect.poll(lookups).toBeGreaterThan(1)
    server.requests.resolve(request)
    goOn()
    end()
    expect(await result).toMatchObject({ status: 'completed' })
  })

  it('is what is still open after one of two was answered, also when nothing runs in between', async () => {
    const { turn, ask, wait } = await openTurn(server, client)
    const [first] = [ask(), ask()]
    wait()
    const both = await turn.result()
    expect(both).toMatchObject({ requests: [{ id: 'req_1' }, { id: 'req_2' }] })
    if (both.status === 'waiting') await both.requests[0]?.deny()
    const ids = async () => {
      const result = await turn.result()
      return result.status === 'waiting' ? result.requests.map(({ id }) => id) : result.status
    }
    expect(await ids()).toEqual(['req_2'])
    // A call that was denied does not run: the log tells of no other wait.
    server.requests.resolve(first)
    expect(await ids()).toEqual(['req_2'])
  })

  it('of a message that answers one of two in words is the other', async () => {
    const { session, ask, wait, settle } = await openTurn(server, client)
    const [question] = [ask({ kind: 'QUESTION', allowsText: true }), ask({ kind: 'QUESTION', allowsText: true })]
    wait('INPUT')
    const reply = client.session(session.id).send('blue')
    const { delivery } = await reply.accepted
    const result = reply.result()
    server.requests.accept(question, { text: 'blue' })
    settle(delivery.id)
    server.requests.resolve(question)
    expect(await result).toMatchObject({ status: 'waiting', turnId: 'turn_1', number: 3, requests: [{ id: 'req_2' }] })
  })

  const accepted = { id: 'dlv_new', text: '', status: 'ACCEPTED' } as const

  it.each([
    ['a cancel', { kind: 'CANCEL' }],
    ['something else that its person said', {}],
  ])('is not what %s, accepted meanwhile, puts an end to', async (_, delivery) => {
    const { turn, session, ask, wait, end } = await openTurn(server, client)
    ask()
    wait()
    session.deliveries.push({ ...accepted, sessionId: session.id, ...delivery })
    const result = turn.result()
    await expect.poll(lookups).toBeGreaterThan(1)
    end()
    expect(await result).toMatchObject({ status: 'completed' })
  })

  it.each([
    ['its person said over a budget', {}, 'LIMIT'],
    ['its person wants to say after it', { policy: 'QUEUE' }, 'APPROVAL'],
    ['somebody else said', { by: { ...USER, id: 'bob' } }, 'APPROVAL'],
    ['nobody knows who said', { by: { ...USER, kind: 'ANONYMOUS' } }, 'APPROVAL'],
    ['asks for a compaction', { kind: 'COMPACT' }, 'QUESTION'],
  ] as const)('is the same when what %s is left for later', async (_, delivery, kind) => {
    const { turn, session, ask, wait } = await openTurn(server, client)
    ask({ kind })
    wait()
    session.deliveries.push({ ...accepted, sessionId: session.id, ...delivery })
    expect(await turn.result()).toMatchObject({ status: 'waiting' })
  })

  it('is the same for all messages that the turn took', async () => {
    const { turn, others, ask, wait, goOn, end } = await openTurn(server, client, ['refund me', 'please', 'now'])
    ask()
    wait()
    for (const each of [turn, ...others]) expect(await each.result()).toMatchObject({ status: 'waiting', turnId: 'turn_1' })
    goOn()
    server.requests.all.splice(0)
    end()
    for (const each of [turn, ...others]) expect(await each.result()).toMatchObject({ status: 'completed' })
  })

  it('is not that it waits for a timer', async () => {
    const { turn, wait, goOn, end } = await openTurn(server, client)
    const result = turn.result()
    wait('TIMER')
    goOn()
    end()
    expect(await result).toMatchObject({ status: 'completed' })
    expect(lookups()).toBe(0)
  })

  it('is its end only, for whoever leaves the answers to others', async () => {
    const { turn, ask, wait, goOn, end } = await openTurn(server, client)
    const request = ask()
    wait()
    await expect(turn.result({ throughWaits: true, timeoutMs: 50 })).rejects.toThrow(TimeoutError)
    const result = turn.result({ throughWaits: true })
    server.requests.accept(request, { decision: 'DENY' })
    goOn()
    end()
    expect(await result).toMatchObject({ status: 'completed' })
    expect(lookups()).toBe(0)
  })

  it('is the same, after whichever byte the connection breaks', async () => {
    const { session, ask, say, wait, goOn } = await openTurn(server, client)
    const proxy = await startFaultyProxy(server.url)
    const first = ask()
    wait()
    server.requests.accept(first, { decision: 'APPROVE' })
    server.requests.resolve(first)
    goOn()
    say('And now?')
    ask({ prompt: 'And this?' })
    wait()
    for (let afterBytes = 0; afterBytes < 6_000; afterBytes += 150) {
      await proxy.resetAll()
      const turn = fastClient(proxy.url).session(session.id).send('refund me', { idempotencyKey: 'refund me' })
      await turn.accepted
      proxy.add({ kind: 'cut', afterBytes }, { kind: 'cut', afterBytes: 700 })
      const result = await turn.result()
      expect(result, `broken after ${afterBytes} bytes`).toMatchObject({ status: 'waiting', text: 'And now?', requests: [{ id: 'req_2' }] })
    }
    await proxy.close()
  })

  it('is found when the connection was away while it began to wait', async () => {
    const { turn, ask, wait } = await openTurn(server, client)
    const result = turn.result()
    await expect.poll(() => server.streams()).toBe(1)
    server.breakStreams()
    ask()
    wait()
    expect(await result).toMatchObject({ status: 'waiting', requests: [{ id: 'req_1' }] })
  })
})

describe('the events of a turn that asks people', () => {
  it('go on through its waits to its end', async () => {
    const { turn, ask, wait, goOn, end } = await openTurn(server, client)
    const request = ask()
    wait()
    server.requests.accept(request, { decision: 'APPROVE' })
    server.requests.resolve(request)
    goOn()
    end()
    expect((await collect(turn)).map(({ type }) => type)).toEqual([
      'TURN_STARTED',
      'DELIVERY_SETTLED',
      'APPROVAL_REQUESTED',
      'TURN_WAITING',
      'APPROVAL_RESOLVED',
      'TURN_RESUMED',
      'TURN_COMPLETED',
    ])
  })
})
