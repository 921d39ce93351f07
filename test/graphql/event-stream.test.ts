import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { GraphQLError } from 'graphql'
import { afterEach, describe, expect, it } from 'vitest'
import type { EventBatch } from '../../server/events/event-batch.js'
import { createSendEvents, type Opened } from '../../server/graphql/event-stream.js'
import { KEEP_ALIVE_MS } from '../../server/graphql/limits.js'
import type { ToEvent } from '../../server/graphql/shared-events.js'
import { abortable } from '../../server/graphql/stream.js'
import { createFakeClock, settled } from '../support/fake-clock.js'
import { facts, ONE, openFeed, range } from '../support/feed-world.js'
import { chunk, sessionCompleted } from '../support/sample-events.js'

const closing: (() => Promise<unknown>)[] = []
afterEach(() => Promise.all(closing.splice(0).map((close) => close())))

const toEvent: ToEvent = (item) => Buffer.from(`event: next\ndata: ${JSON.stringify(positionsOf(item))}\n\n`)
const positionsOf = (item: unknown) => (item as Pick<EventBatch, 'events'>).events.map(({ position }) => position)
const mask = (thrown: unknown) => new GraphQLError(`masked ${String(thrown)}`)

/** A server that answers every request with what is opened for it, and a client that reads when it is told to. */
async function serve(opened: () => Opened) {
  const clock = createFakeClock()
  const send = createSendEvents(clock, mask)
  const responses: ServerResponse[] = []
  const sent: Promise<void>[] = []
  const server = createServer((_, response) => {
    responses.push(response)
    response.writeHead(200)
    sent.push(send(opened(), response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))))
  const port = (server.address() as { port: number }).port
  const answer = await new Promise<IncomingMessage>((resolve) => request({ port, host: '127.0.0.1' }, resolve).end())
  const [response] = responses
  if (response === undefined) throw new Error('nobody asked')
  return { clock, answer, response, sent: () => Promise.all(sent) }
}

/** What the client gets, until `isEnough` holds for it. */
async function readUntil(answer: IncomingMessage, isEnough: (text: string) => boolean): Promise<string> {
  let text = ''
  for await (const piece of answer.iterator({ destroyOnReturn: false })) {
    text += String(piece)
    if (isEnough(text)) break
  }
  return text
}
const readAll = (answer: IncomingMessage) => readUntil(answer, () => false)
const positionsIn = (text: string) => [...text.matchAll(/^data: (\[.*\])$/gm)].flatMap(([, data = '']) => JSON.parse(data) as number[])

/** Follows the log of a feed, as a subscription does. */
function following({ feed }: ReturnType<typeof openFeed>, options: { readonly toEvent?: ToEvent } = {}): Opened {
  const parts = abortable(async function* (signal) {
    yield feed.open(ONE, { after: 0, follow: true, signal })
  })
  return { parts, toEvent, ...options }
}

describe('an answer to a subscription', () => {
  it('begins with a comment, has an event for each result, and says that it is complete', async () => {
    const world = openFeed()
    world.commit(...facts(2), sessionCompleted())
    const { answer, sent } = await serve(() => following(world))
    expect(await readAll(answer)).toBe(':\n\nevent: next\ndata: [1,2,3]\n\nevent: complete\ndata:\n\n')
    await sent()
    expect(world.clock.pending).toBe(0)
  })

  it('goes on with what comes after a reader, and with items between', async () => {
    const world = openFeed()
    world.commit(sessionCompleted())
    const { answer } = await serve(() => {
      const parts = abortable(async function* (signal) {
        yield { events: [] }
        yield world.feed.open(ONE, { after: 0, follow: true, signal })
        yield { events: [{ position: 99 }] }
      })
      return { parts, toEvent }
    })
    expect(positionsIn(await readAll(answer))).toEqual([1, 99])
  })

  it('keeps the order when an event has to be waited for', async () => {
    const world = openFeed()
    const slowly: ToEvent = (item) => (positionsOf(item)[0] === 2 ? settled().then(() => toEvent(item)) : toEvent(item))
    const { answer } = await serve(() => following(world, { toEvent: slowly }))
    await readUntil(answer, (text) => text.includes('data: []'))
    for (const event of facts(5)) world.commit(event)
    world.commit(sessionCompleted())
    expect(positionsIn(await readAll(answer))).toEqual(range(1, 6))
  })

  it('ends with an error, masked, when it cannot go on, and leaves its source', async () => {
    const world = openFeed()
    const { answer, sent } = await serve(() => following(world))
    await readUntil(answer, (text) => text.includes('data: []'))
    world.feed.close()
    expect(await readAll(answer)).toMatch(
      /^event: next\ndata: \{"errors":\[\{"message":"masked .*closed.*\}\]\}\n\nevent: complete\ndata:\n\n$/,
    )
    await sent()
    expect(world.clock.pending).toBe(0)
  })

  it('ends so too when an event cannot be made, or not after a while', async () => {
    for (const fails of [
      () => {
        throw new Error('no event')
      },
      () => Promise.reject(new Error('no event')),
    ]) {
      const world = openFeed()
      const { answer, sent } = await serve(() => following(world, { toEvent: fails }))
      expect(await readAll(answer)).toContain('{"errors":[{"message":"masked Error: no event"')
      await sent()
      expect(world.feed.subscribers).toBe(0)
    }
  })
})

describe('a client that reads slowly', () => {
  /** Together more than the buffers of the system between both ends take. */
  const EVENTS = 1_500
  const TEXT = 'x'.repeat(20_000)
  const wide: ToEvent = (item) =>
    Buffer.from(`event: next\ndata: ${JSON.stringify(positionsOf(item))}\n:${TEXT.repeat(positionsOf(item).length)}\n\n`)

  it('keeps a bounded part of what was published in memory, and gets everything once when it reads on (W1)', async () => {
    const world = openFeed({ maxBufferedEvents: 50, pageSize: 5 })
    const { answer, response } = await serve(() => following(world, { toEvent: wide }))
    await readUntil(answer, (text) => text.includes('data: []'))
    answer.pause()
    let most = 0
    for (let count = 0; count < EVENTS; count += 1) {
      world.commit(chunk('a', count, ''))
      await settled()
      most = Math.max(most, response.writableLength + (response.socket?.writableLength ?? 0))
    }
    expect(response.writableNeedDrain).toBe(true)
    expect(most).toBeLessThan(300_000)
    world.commit(sessionCompleted())
    expect(positionsIn(await readAll(answer))).toEqual(range(1, EVENTS + 1))
  })
})

describe('a client that goes away', () => {
  it('ends its subscription at once, whatever is being waited for (W2)', async () => {
    for (const hold of [false, true]) {
      const world = openFeed()
      if (hold) world.store.hold()
      const { answer, sent } = await serve(() => following(world))
      if (!hold) await readUntil(answer, (text) => text.includes('data: []'))
      expect(world.feed.subscribers).toBe(1)
      answer.destroy()
      await sent()
      expect(world.feed.subscribers).toBe(0)
      expect(world.clock.pending).toBe(0)
    }
  })

  it('also while an item is waited for that is no batch', async () => {
    let left = false
    const { answer, sent } = await serve(() => {
      const parts = abortable<object>(async function* (signal) {
        yield { events: [] }
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        left = true
      })
      return { parts, toEvent }
    })
    await readUntil(answer, (text) => text.includes('data: []'))
    answer.destroy()
    await sent()
    expect(left).toBe(true)
  })

  it('before it was answered begins nothing', async () => {
    const world = openFeed()
    const { response, answer } = await serve(() => following(world))
    await readUntil(answer, (text) => text.includes('data: []'))
    response.destroy()
    await new Promise((resolve) => response.once('close', resolve))
    await createSendEvents(createFakeClock(), mask)(following(world), response)
    expect(world.feed.subscribers).toBe(0)
  })
})

describe('whoever publishes', () => {
  it('is not held up by the subscribers: their events are made in the next turn', async () => {
    const world = openFeed()
    const made: number[] = []
    const { answer } = await serve(() =>
      following(world, {
        toEvent: (item) => {
          made.push(...positionsOf(item))
          return toEvent(item)
        },
      }),
    )
    await readUntil(answer, (text) => text.includes('data: []'))
    world.commit(...facts(1))
    world.commit(...facts(1))
    expect(made).toEqual([])
    await settled()
    await settled()
    expect(made).toEqual([1, 2])
  })
})

describe('a comment', () => {
  it('is sent when nothing else was for a while, and not otherwise', async () => {
    const world = openFeed()
    const { clock, answer } = await serve(() => following(world))
    await readUntil(answer, (text) => text.includes('data: []'))
    await clock.advance(KEEP_ALIVE_MS)
    world.commit(...facts(1))
    expect(await readUntil(answer, (text) => text.includes('data: [1]'))).toBe('event: next\ndata: [1]\n\n')
    await clock.advance(KEEP_ALIVE_MS)
    await clock.advance(KEEP_ALIVE_MS)
    expect(await readUntil(answer, (text) => text.endsWith('\n\n'))).toBe(':\n\n')
  })
})
