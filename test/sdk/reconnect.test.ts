import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GraphqlRequestError, InvalidInputError, NetworkError, PerdureError, UnauthenticatedError } from '../../sdk/errors.js'
import type { SessionEvent } from '../../sdk/generated/session-events.js'
import type { Reconnect } from '../../sdk/reconnect.js'
import { startFaultyProxy, type FaultyProxy } from '../support/faulty-proxy.js'
import { startFakeServer, type FakeServer } from './fake-server.js'
import { fastClient, type Waits } from './fast-client.js'
import { collect } from './sdk-suite.js'

let server: FakeServer
let proxy: FaultyProxy
beforeEach(async () => {
  server = await startFakeServer({ heartbeatMs: 10 })
  proxy = await startFaultyProxy(server.url)
})
afterEach(async () => {
  await proxy.close()
  await server.close()
})

/** A session with one finished turn, read past the proxy. */
async function givenSession(): Promise<{ readonly id: string; readonly all: readonly SessionEvent[] }> {
  const session = await fastClient(server.url).sessions.create({ agent: 'echo' })
  await session.send('hello').result()
  return { id: session.id, all: await collect(session.events({ follow: false })) }
}

describe('a followed session', () => {
  it('is read without loss or repeat when the server dies while the consumer is busy (S1)', async () => {
    const { id, all } = await givenSession()
    const stored = server.log.find(id)
    const seen: SessionEvent[] = []
    for await (const event of fastClient(proxy.url).session(id).events()) {
      seen.push(event)
      if (seen.length < all.length || stored.endedAt !== null) continue
      // Busy with the newest event: meanwhile the connection dies, and the log grows.
      await proxy.resetAll()
      if (seen.length === all.length + 8) server.log.end(stored)
      else server.log.append(stored, 'TURN_RESUMED', { cause: `number ${seen.length}` })
    }
    expect(seen.map((event) => event.cursor)).toEqual(stored.log.map((event) => event.cursor))
    expect(proxy.connections()).toBe(10)
  })

  it('asks a silent server again, from where it stood (S3)', async () => {
    const { id, all } = await givenSession()
    proxy.add({ kind: 'stall', afterBytes: 900 }, { kind: 'stall', afterBytes: 0 })
    const reconnects: Reconnect[] = []
    const options = { follow: false, idleTimeoutMs: 500, onReconnect: (info: Reconnect) => void reconnects.push(info) }
    expect(await collect(fastClient(proxy.url).session(id).events(options))).toEqual(all)
    expect(reconnects.map((info) => info.error.message)).toEqual([
      expect.stringContaining('silent for 500 ms'),
      expect.stringContaining('silent for 500 ms'),
    ])
    expect(proxy.connections()).toBe(3)
  })

  it('is left alone as long as the server says that it is there', async () => {
    const { id } = await givenSession()
    const batches = fastClient(proxy.url).session(id).batches({ idleTimeoutMs: 500, last: 0 })
    for (let heartbeats = 0; heartbeats < 60; heartbeats += 1) expect((await batches.next()).value?.events).toEqual([])
    await batches.return?.()
    expect(proxy.connections()).toBe(1)
  })

  it('a server that closes its streams when it shuts down does not end it; the end of the session does (S2)', async () => {
    const { id, all } = await givenSession()
    let closed = 0
    server.intercept((request, response) => {
      if (request.headers.accept !== 'text/event-stream' || closed++ > 0) return false
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('event: complete\ndata:\n\n')
      return true
    })
    const events = fastClient(proxy.url)
      .session(id)
      .events({ types: ['TURN_COMPLETED'] })
    expect((await events.next()).value).toEqual(all.find((event) => event.type === 'TURN_COMPLETED'))
    server.log.end(server.log.find(id))
    expect((await events.next()).done).toBe(true)
    expect(closed).toBe(2)
  })

  it('throws with the cursor when the connections that it may make are used up, instead of ending', async () => {
    const { id, all } = await givenSession()
    proxy.add({ kind: 'cut', afterBytes: 1_500 }, ...Array.from({ length: 3 }, () => ({ kind: 'refuse' }) as const))
    const seen: SessionEvent[] = []
    const waits: Waits = { waitedMs: [] }
    const error = await readInto(seen, fastClient(proxy.url, {}, waits).session(id).events({ maxReconnects: 3 }))
    expect(error).toBeInstanceOf(NetworkError)
    expect(error).toMatchObject({ attempts: 4, lastCursor: seen.at(-1)?.cursor })
    expect(waits.waitedMs).toHaveLength(3)
    const rest = await collect(
      fastClient(server.url)
        .session(id)
        .events({ after: error.lastCursor ?? '', follow: false }),
    )
    expect([...seen, ...rest]).toEqual(all)
  })

  it('waits longer with every failure and is quick again after progress', async () => {
    const { id } = await givenSession()
    proxy.add({ kind: 'refuse' }, { kind: 'refuse' }, { kind: 'refuse' }, { kind: 'cut', afterBytes: 1_500 }, { kind: 'refuse' })
    const waits: Waits = { waitedMs: [] }
    await collect(fastClient(proxy.url, {}, waits).session(id).events({ follow: false }))
    const [first = 0, second = 0, third = 0, afterProgress = 0] = waits.waitedMs
    expect([second, third, afterProgress]).toEqual([first * 2, first * 4, first].map((ms) => expect.closeTo(ms, -1)))
  })

  it('ends with what the server refuses, and says where it stood', async () => {
    const { id, all } = await givenSession()
    await expect(collect(fastClient(server.url).session(id).events({ after: 'nonsense' }))).rejects.toThrow(InvalidInputError)

    const events = fastClient(server.url).session(id).events({ last: 2 })
    await events.next()
    const seen = [all.at(-2)]
    server.intercept((_, response) => {
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"errors":[{"message":"the token has expired"}]}')
      return true
    })
    server.breakStreams()
    const error = await readInto([], events)
    expect(error).toBeInstanceOf(UnauthenticatedError)
    expect(error.message).toContain('the token has expired')
    expect(Number(error.lastCursor)).toBeGreaterThan(Number(seen[0]?.cursor))
  })

  it('gives up on a server that has a bug, and on one that is none', async () => {
    const { id } = await givenSession()
    const answerWith = (type: string, body: string): void =>
      server.intercept((_, response) => {
        response.writeHead(200, { 'content-type': type }).end(body)
        return true
      })
    const bug = { errors: [{ message: 'unexpected, error err_1', extensions: { code: 'INTERNAL_SERVER_ERROR' } }] }
    answerWith('text/event-stream', `event: next\ndata: ${JSON.stringify(bug)}\n\nevent: complete\n\n`)
    const waits: Waits = { waitedMs: [] }
    expect(await readInto([], fastClient(server.url, {}, waits).session(id).events())).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' })
    expect(waits.waitedMs).toHaveLength(4)
    answerWith('text/html', '<h1>It works!</h1>')
    const error = await readInto([], fastClient(server.url).session(id).events())
    expect(error).toBeInstanceOf(GraphqlRequestError)
    expect(error.message).toContain('is the url right? It begins: <h1>')
  })

  it('stops at once when its signal is aborted, and when its iterator is closed, also in the middle of a wait (S4)', async () => {
    const { id } = await givenSession()
    const session = fastClient(proxy.url).session(id)
    const controller = new AbortController()
    const followed = collect(session.events({ signal: controller.signal, after: '10' }))
    controller.abort(new Error('enough'))
    await expect(followed).rejects.toThrow('enough')

    const events = session.events({ last: 1 })
    await events.next()
    const pending = events.next()
    await events.return?.()
    expect((await pending).done).toBe(true)

    const batches = session.batches({ last: 4, signal: AbortSignal.abort(new Error('before it began')) })
    await expect(batches.next()).rejects.toThrow('before it began')
    expect(server.log.find(id).endedAt).toBeNull()
  })
})

/** Reads until it throws; gives what it threw. */
async function readInto(seen: SessionEvent[], events: AsyncIterable<SessionEvent>): Promise<PerdureError> {
  try {
    for await (const event of events) seen.push(event)
  } catch (error) {
    if (error instanceof PerdureError) return error
    throw error
  }
  throw new Error('the events ended, and nothing was thrown')
}
