/** The reviewer's queue. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Client } from '../../sdk/client.js'
import { GraphqlRequestError, NetworkError, UnauthenticatedError } from '../../sdk/errors.js'
import type { InputRequest } from '../../sdk/input-request.js'
import { startFaultyProxy, type FaultyProxy } from '../support/faulty-proxy.js'
import type { FakeSession } from './fake-log.js'
import { startFakeServer, type FakeServer } from './fake-server.js'
import { fastClient, type Waits } from './fast-client.js'
import { collect } from './sdk-suite.js'

let server: FakeServer
let proxy: FaultyProxy
let client: Client
let session: FakeSession
beforeEach(async () => {
  server = await startFakeServer()
  proxy = await startFaultyProxy(server.url)
  client = fastClient(server.url)
  session = server.log.find((await client.sessions.create({ agent: 'quiet' })).id)
})
afterEach(async () => {
  await proxy.close()
  await server.close()
})

type Asked = NonNullable<Parameters<FakeServer['requests']['ask']>[2]>
const ask = (asked: Asked = {}) => server.requests.ask(session, 'turn_1', asked)

describe('the queue', () => {
  const told = async (queue: AsyncIterator<InputRequest>, count: number): Promise<readonly string[]> => {
    const seen: string[] = []
    while (seen.length < count) {
      const next = await queue.next()
      if (next.done === true) break
      seen.push(`${next.value.id} ${next.value.status}`)
    }
    return seen
  }

  it('tells what is open, oldest first, then what opens and what is open no more, once each (Q3)', async () => {
    const [first, second, third] = [ask(), ask(), ask()]
    const queue = client.inputRequests()[Symbol.asyncIterator]()
    expect(await told(queue, 3)).toEqual(['req_1 PENDING', 'req_2 PENDING', 'req_3 PENDING'])
    for (const request of [first, second, third]) server.requests.announce(request)
    server.requests.accept(second, { decision: 'DENY' })
    server.requests.resolve(second)
    ask()
    expect(await told(queue, 2)).toEqual(['req_2 ANSWERED', 'req_4 PENDING'])
    await queue.return?.()
  })

  it('gives requests that can be answered', async () => {
    ask()
    for await (const request of client.inputRequests()) {
      if (request.status === 'PENDING') await request.approve()
      else expect(request.acceptedAnswer).toMatchObject({ decision: 'APPROVE' })
      if (request.status === 'ANSWERED') break
    }
  })

  it('reads the list when it is told of changes already, so that nothing falls in between (Q1)', async () => {
    ask()
    const accepted: string[] = []
    server.intercept((request) => {
      const kind = request.headers.accept === 'text/event-stream' ? 'subscription' : 'list'
      // Between the two: in the list, and told as a change.
      if (kind === 'list' && accepted.length === 1) ask()
      accepted.push(kind)
      return false
    })
    const queue = client.inputRequests()[Symbol.asyncIterator]()
    expect(await told(queue, 2)).toEqual(['req_1 PENDING', 'req_2 PENDING'])
    ask()
    expect(await told(queue, 1)).toEqual(['req_3 PENDING'])
    expect(accepted).toEqual(['subscription', 'list'])
    await queue.return?.()
  })

  it('tells after an outage what opened meanwhile, and what was settled or went out of sight (Q2)', async () => {
    const [first, second] = [ask(), ask(), ask()]
    const queue = client.inputRequests()[Symbol.asyncIterator]()
    await told(queue, 3)
    const next = told(queue, 3)
    server.breakStreams()
    server.requests.resolve(first, 'EXPIRED')
    server.requests.all.splice(server.requests.all.indexOf(second), 1)
    ask({ prompt: 'new' })
    expect(await next).toEqual(['req_1 EXPIRED', 'req_2 CANCELLED', 'req_4 PENDING'])
    expect(server.operations.filter((name) => name === 'ListInputRequests')).toHaveLength(2)
    await queue.return?.()
  })

  it('misses nothing, after whichever byte its connection breaks', async () => {
    for (let afterBytes = 0; afterBytes < 2_000; afterBytes += 100) {
      const request = ask()
      const queue = fastClient(proxy.url).inputRequests()[Symbol.asyncIterator]()
      proxy.add({ kind: 'cut', afterBytes })
      expect(await told(queue, 1), `broken after ${afterBytes} bytes`).toEqual([`${request.id} PENDING`])
      server.requests.accept(request, { decision: 'APPROVE' })
      expect(await told(queue, 1), `broken after ${afterBytes} bytes`).toEqual([`${request.id} ANSWERED`])
      await queue.return?.()
      await proxy.resetAll()
    }
  })

  it('takes only what is wanted', async () => {
    ask({ kind: 'QUESTION' })
    ask({ agentName: 'other' })
    ask()
    const approvals = client.inputRequests({ kind: 'APPROVAL', agent: ['quiet', 'loud'] })
    expect((await approvals.list()).nodes.map(({ id }) => id)).toEqual(['req_3'])
    const queue = approvals[Symbol.asyncIterator]()
    expect(await told(queue, 1)).toEqual(['req_3 PENDING'])
    ask({ kind: 'QUESTION' })
    ask()
    expect(await told(queue, 1)).toEqual(['req_5 PENDING'])
    await queue.return?.()
  })

  it('closes its connection when nobody listens any more, also in the middle of a wait', async () => {
    ask()
    const queue = client.inputRequests()[Symbol.asyncIterator]()
    await told(queue, 1)
    expect(server.streams()).toBe(1)
    const pending = queue.next()
    await queue.return?.()
    expect((await pending).done).toBe(true)
    await expect.poll(() => server.streams()).toBe(0)

    const controller = new AbortController()
    const aborted = client.inputRequests({ signal: controller.signal })[Symbol.asyncIterator]()
    await told(aborted, 1)
    const waiting = aborted.next()
    controller.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    await expect.poll(() => server.streams()).toBe(0)
    for await (const _ of client.inputRequests()) break
    await expect.poll(() => server.streams()).toBe(0)
  })

  it('is a list too, newest first, page by page', async () => {
    const [first] = [ask(), ask(), ask()]
    server.requests.accept(first, { decision: 'APPROVE' })
    const page = await client.inputRequests().list({ first: 1 })
    expect(page.nodes.map(({ id }) => id)).toEqual(['req_3'])
    expect(page.pageInfo.hasNextPage).toBe(true)
    expect((await collect(client.inputRequests().list({ first: 1 }))).map(({ id }) => id)).toEqual(['req_3', 'req_2'])
    expect((await collect(client.inputRequests().list({ status: ['ANSWERED', 'PENDING'] }))).map(({ id }) => id)).toHaveLength(3)
  })

  it('ends with what the server refuses, and when the connections that it may make are used up', async () => {
    const refuse = (status: number, body = ''): void =>
      server.intercept((_, response) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(body)
        return true
      })
    refuse(401, '{"errors":[{"message":"who are you?"}]}')
    await expect(collect(client.inputRequests())).rejects.toThrow(UnauthenticatedError)
    refuse(503)
    const waits: Waits = { waitedMs: [] }
    const bounded = fastClient(server.url, {}, waits).inputRequests({ maxReconnects: 3 })
    await expect(collect(bounded)).rejects.toThrow(NetworkError)
    expect(waits.waitedMs).toHaveLength(3)
  })

  it('gives up on a server that fails in each subscription, although it lists', async () => {
    const failure = JSON.stringify({ errors: [{ message: 'a bug', extensions: { code: 'INTERNAL_SERVER_ERROR' } }] })
    let asked = 0
    server.intercept((request, response) => {
      if (request.headers.accept !== 'text/event-stream') return false
      asked += 1
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: next\ndata: ${failure}\n\nevent: complete\n\n`)
      return true
    })
    await expect(collect(client.inputRequests())).rejects.toThrow(GraphqlRequestError)
    expect(asked).toBe(5)
  })
})
