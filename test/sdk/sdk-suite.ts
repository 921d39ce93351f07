/**
 * What the SDK promises, as claims about any server: the fake of these tests, and a real one. `open` gives a server whose agent
 * `agent` answers every message with a text that contains the message, in more than one piece.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient, type Client, type ClientOptions } from '../../sdk/client.js'
import { NotFoundError, SessionEndedError } from '../../sdk/errors.js'
import type { SessionEvent } from '../../sdk/generated/session-events.js'
import { toMessages } from '../../sdk/messages.js'
import { startFaultyProxy, type Fault } from '../support/faulty-proxy.js'
import { fastClient } from './fast-client.js'
import { recordFetch } from './recorded-fetch.js'

export interface SdkTarget {
  readonly url: string
  /** Whatever it wants to know who asks. */
  readonly headers?: Readonly<Record<string, string>>
  readonly agent: string
  close(): Promise<void>
}

export function sdkSuite(name: string, open: () => Promise<SdkTarget>): void {
  describe(`the SDK against ${name}`, () => {
    let target: SdkTarget
    let client: Client
    const withUrl = (url: string): ClientOptions => ({ url, headers: target.headers ?? {} })
    beforeAll(async () => {
      target = await open()
      client = createClient(withUrl(target.url))
    })
    afterAll(() => target.close())

    it('sends to a new session and gives its result', async () => {
      const turn = client.agent(target.agent).send('hello there')
      const { session, created, duplicate } = await turn.accepted
      expect({ created, duplicate }).toEqual({ created: true, duplicate: false })
      const result = await turn.result()
      expect(result).toMatchObject({ status: 'completed', number: 1, text: expect.stringContaining('hello there') })
      expect(await session.get()).toMatchObject({ id: session.id, agentName: target.agent })
    })

    it('gives every event of the turn from its start to its end, again for each iteration', async () => {
      const session = await client.sessions.create({ agent: target.agent })
      await session.send('first').result()
      const turn = session.send('second')
      const events = await collect(turn)
      expect(events[0]).toMatchObject({ type: 'TURN_STARTED', number: 2 })
      expect(events.at(-1)?.type).toBe('TURN_COMPLETED')
      expect(new Set(events.map((event) => event.turnId)).size).toBe(1)
      expect(
        events
          .filter((event) => event.type === 'LLM_CHUNK')
          .map((event) => event.text)
          .join(''),
      ).toContain('second')
      expect(withoutStreamed(await collect(turn))).toEqual(withoutStreamed(events))
    })

    it('a repeated key gives the first delivery, and its turn as it was', async () => {
      const session = await client.sessions.create({ agent: target.agent })
      const first = await session.send('once', { idempotencyKey: `key ${session.id}` }).result()
      await session.send('in between').result()
      const again = session.send('once', { idempotencyKey: `key ${session.id}` })
      expect((await again.accepted).duplicate).toBe(true)
      expect(await again.result()).toEqual(first)
    })

    it('follows a session to its end', async () => {
      const session = await client.sessions.create({ agent: target.agent })
      const all = collect(session.events())
      await session.send('the last words').result()
      await session.end()
      const events = await all
      expect(events.at(-1)?.type).toBe('SESSION_COMPLETED')
      expect(new Set(events.map((event) => event.id)).size).toBe(events.length)
      await expect(session.send('too late').accepted).rejects.toThrow(SessionEndedError)
      expect(withoutStreamed(await collect(session.events({ follow: false })))).toEqual(withoutStreamed(events))
      let shown = toMessages([])
      for await (const state of session.messages()) shown = state
      expect(shown).toEqual(toMessages(events))
    })

    it('goes on after a cursor, and from the last so many', async () => {
      const session = await client.sessions.create({ agent: target.agent })
      await session.send('read me').result()
      const all = await collect(session.events({ follow: false }))
      for (const [at, event] of all.entries()) {
        expect(await collect(session.events({ follow: false, after: event.cursor }))).toEqual(all.slice(at + 1))
      }
      expect(await collect(session.events({ follow: false, last: 3 }))).toEqual(all.slice(-3))
    })

    it('says that a session is not there', async () => {
      const session = client.session('ses_01jzzzzzzzzzzzzzzzzzzzzzzz')
      expect(await session.get()).toBeNull()
      await expect(session.send('anyone?').accepted).rejects.toThrow(NotFoundError)
      await expect(collect(session.events())).rejects.toThrow(NotFoundError)
    })

    it('lists sessions page by page', async () => {
      const ids = await Promise.all([1, 2, 3].map(async () => (await client.sessions.create({ agent: target.agent })).id))
      const page = await client.sessions.list({ first: 2 })
      expect(page.nodes).toHaveLength(2)
      expect(page.pageInfo.hasNextPage).toBe(true)
      const all: string[] = []
      for await (const session of client.sessions.list({ first: 2 })) all.push(session.id)
      expect(new Set(all).size).toBe(all.length)
      expect(all).toEqual(expect.arrayContaining(ids))
    })

    it.each(['error', 'end'] as const)('loses and repeats nothing, after whichever byte the answer stops (%s)', async (breakage) => {
      const session = await client.sessions.create({ agent: target.agent })
      await session.send('a').result()
      const recorded = recordFetch()
      const read = (): Promise<readonly SessionEvent[]> =>
        collect(
          fastClient(target.url, { ...withUrl(target.url), fetch: recorded.fetch })
            .session(session.id)
            .events({ follow: false, last: 6 }),
        )
      const all = await read()
      expect(recorded.longest()).toBeGreaterThan(1_000)
      for (let afterBytes = 0; afterBytes <= recorded.longest(); afterBytes += 1) {
        recorded.takeRequests()
        recorded.breakNext(afterBytes, breakage)
        expect(await read(), `broken after ${afterBytes} bytes`).toEqual(all)
        expect(recorded.takeRequests().length).toBeLessThanOrEqual(2)
      }
    })

    it.each(['cut', 'half-close'] as const)('loses and repeats nothing when a real connection breaks (%s)', async (kind) => {
      const session = await client.sessions.create({ agent: target.agent })
      await session.send('a').result()
      const all = await collect(session.events({ follow: false }))
      const length = await countBytes(withUrl(target.url), session.id)
      expect(length).toBeGreaterThan(1_000)
      for (let afterBytes = 0; afterBytes < length; afterBytes += Math.ceil(length / 20)) {
        const events = await readThrough(withUrl(target.url), session.id, { kind, afterBytes })
        expect(events, `broken after ${afterBytes} bytes`).toEqual(all)
      }
    })
  })
}

/** Reads the recorded log through a connection with a fault. */
async function readThrough(options: ClientOptions, sessionId: string, fault: Fault): Promise<readonly SessionEvent[]> {
  const proxy = await startFaultyProxy(options.url)
  proxy.add(fault)
  try {
    return await collect(fastClient(proxy.url, options).session(sessionId).events({ follow: false }))
  } finally {
    await proxy.close()
  }
}

/** Length of the whole answer to a read of the log, headers included. */
async function countBytes(options: ClientOptions, sessionId: string): Promise<number> {
  const proxy = await startFaultyProxy(options.url)
  await collect(
    createClient({ ...options, url: proxy.url })
      .session(sessionId)
      .events({ follow: false }),
  )
  const bytes = proxy.bytes()
  await proxy.close()
  return bytes
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

const STREAMED: ReadonlySet<string> = new Set(['LLM_CHUNK', 'LLM_REASONING', 'LLM_TOOL_INPUT', 'TOOL_CALL_PROGRESS'])

/** Pieces of a turn that has ended may have been removed from the log. */
function withoutStreamed(events: readonly SessionEvent[]): readonly SessionEvent[] {
  return events.filter((event) => !STREAMED.has(event.type))
}
