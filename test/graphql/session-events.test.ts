import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { REAUTHENTICATE_MS } from '../../server/graphql/limits.js'
import { createIdSource, type SessionId } from '../../server/ids.js'
import { createFakeClock } from '../support/fake-clock.js'
import { authenticateByHeader, converse, startApi, type Api } from './api.js'

const QUERY = `subscription ($session: SessionRef!, $after: String, $last: Int, $follow: Boolean, $types: [SessionEventType!]) {
  sessionEvents(session: $session, after: $after, last: $last, follow: $follow, types: $types) {
    __typename
    ... on SessionEventsBatch { cursor caughtUp events { __typename id type cursor ... on LlmChunk { text } ... on TurnStarted { number } } }
    ... on Problem { code message }
    ... on InvalidInputError { issues { path } }
    ... on NotFoundError { id }
  }
}`
interface Event {
  readonly type: string
  readonly cursor: string
  readonly text?: string
}
interface Batch {
  readonly __typename: string
  readonly cursor: string
  readonly caughtUp: boolean
  readonly events: readonly Event[]
  readonly issues?: readonly { readonly path: readonly string[] }[]
}
interface Message {
  readonly data?: { readonly sessionEvents: Batch } | null
  readonly errors?: readonly { readonly extensions: unknown }[]
}

const clock = createFakeClock()
const known = new Map([['ann', true]])
let api: Api
let told: SessionId

beforeAll(async () => {
  api = await startApi({
    clock,
    authenticate: (request) => {
      const caller = authenticateByHeader(request)
      return caller !== null && known.get(caller.id) === false ? null : caller
    },
  })
  told = await converse(api, 'ann', ['time'], 'test:told')
})
afterAll(() => api.close())

/** What graphql-sse's own client gets. */
async function* follow(variables: object, caller = 'ann', url = api.url): AsyncGenerator<Message, void> {
  const client = createClient({ url, headers: { 'x-caller': caller }, retryAttempts: 0 })
  try {
    for await (const message of client.iterate({ query: QUERY, variables: { follow: true, ...variables } }))
      yield message as unknown as Message
  } finally {
    client.dispose()
  }
}

/** All batches until the subscription completes. */
async function read(variables: object, caller = 'ann'): Promise<readonly Batch[]> {
  const batches: Batch[] = []
  for await (const { data } of follow(variables, caller)) if (data) batches.push(data.sessionEvents)
  return batches
}

async function readEvents(variables: object): Promise<readonly Event[]> {
  return (await read({ session: { id: told }, follow: false, ...variables })).flatMap(({ events }) => events)
}

/** Batches as they come, until one holds an event of this type. */
async function until(batches: AsyncIterator<Message>, type: string): Promise<readonly Event[]> {
  const events: Event[] = []
  while (!events.some((event) => event.type === type)) {
    const next = await batches.next()
    if (next.done === true) throw new Error(`completed before ${type}`)
    events.push(...(next.value.data?.sessionEvents.events ?? []))
  }
  return events
}

describe('sessionEvents', () => {
  it('replays the whole log with graphql-sse, and completes at its end when told not to follow', async () => {
    const batches = await read({ session: { id: told }, follow: false })
    const events = batches.flatMap(({ events: some }) => some)
    expect(events.map(({ cursor }) => Number(cursor))).toEqual(events.map((_, index) => index + 1))
    expect(events.at(0)?.type).toBe('SESSION_STARTED')
    expect(events.at(-1)?.type).toBe('SESSION_WAITING')
    expect(batches.at(-1)).toMatchObject({ caughtUp: true, cursor: events.at(-1)?.cursor })
  })

  it('goes on after a cursor, of an event or of the session', async () => {
    const all = await readEvents({})
    expect(await readEvents({ after: all[4]?.cursor })).toEqual(all.slice(5))
    const { data } = await api.as<{ session: { cursor: string } }>('ann', 'query ($id: ID!) { session(id: $id) { cursor } }', { id: told })
    expect(await readEvents({ after: data.session.cursor })).toEqual([])
  })

  it('replays the last so many events, of the types that were asked for', async () => {
    const all = await readEvents({})
    for (const last of [0, 1, 7, 10_000]) expect(await readEvents({ last })).toEqual(last === 0 ? [] : all.slice(-last))
    const chunks = all.filter(({ type }) => type === 'LLM_CHUNK')
    expect(chunks.length).toBeGreaterThan(1)
    expect(await readEvents({ last: 1, types: ['LLM_CHUNK'] })).toEqual(chunks.slice(-1))
  })

  it('follows live, from an address, and completes when the session has ended', async () => {
    const send = (text: string) => converse(api, 'ann', [text], 'test:live')
    await send('one')
    const batches = follow({ session: { address: 'test:live' } })
    expect((await until(batches, 'SESSION_WAITING')).filter(({ type }) => type === 'TURN_STARTED')).toMatchObject([{ number: 1 }])
    const id = await send('two')
    expect((await until(batches, 'SESSION_WAITING')).filter(({ type }) => type === 'TURN_STARTED')).toMatchObject([{ number: 2 }])
    await api.world.end(id)
    await until(batches, 'SESSION_COMPLETED')
    expect((await batches.next()).done).toBe(true)
    await api.readers.until(0)
    expect(await read({ session: { id } })).not.toEqual([])
  })

  it('ends everything that belongs to it as soon as the client has gone', async () => {
    const batches = follow({ session: { id: told } })
    await until(batches, 'SESSION_WAITING')
    await api.readers.until(1)
    await batches.return()
    await api.readers.until(0)
    await vi.waitFor(() => expect(clock.pending).toBe(0))
  })

  it('sends its headers and a first chunk at once, and passes through proxies as it is', async () => {
    const quiet = await converse(api, 'ann', ['quiet'])
    const { data } = await api.as<{ session: { cursor: string } }>('ann', 'query ($id: ID!) { session(id: $id) { cursor } }', { id: quiet })
    const aborter = new AbortController()
    const response = await fetch(api.url, {
      method: 'POST',
      signal: aborter.signal,
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', 'x-caller': 'ann' },
      body: JSON.stringify({ query: QUERY, variables: { session: { id: quiet }, after: data.session.cursor, follow: true } }),
    })
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-cache, no-transform')
    expect(response.headers.get('x-accel-buffering')).toBe('no')
    const first = await response.body?.getReader().read()
    expect(new TextDecoder().decode(first?.value as Uint8Array)).toMatch(/^:\n\n/)
    aborter.abort()
    await api.readers.until(0)
  })
})

describe('what is wrong with the question is told as data, before anything is streamed', () => {
  it.each([
    ['a cursor that is none', { after: 'x1' }, 'after'],
    ['a cursor beyond the log', { after: '9999' }, 'after'],
    ['a cursor with a number of events', { after: '1', last: 1 }, 'last'],
    ['a negative number of events', { last: -1 }, 'last'],
    ['too many events', { last: 10_001 }, 'last'],
  ])('%s', async (_, more, path) => {
    expect(await read({ session: { id: told }, ...more })).toMatchObject([
      { __typename: 'InvalidInputError', code: 'INVALID_INPUT', issues: [{ path: [path] }] },
    ])
    expect(api.readers.count).toBe(0)
  })

  it('a session that is not there, or that the caller may not see', async () => {
    const missing = createIdSource().next('ses')
    for (const [session, caller] of [
      [{ id: missing }, 'ann'],
      [{ id: told }, 'bob'],
      [{ address: 'test:told' }, 'bob'],
      [{ address: 'test:nobody' }, 'ann'],
      [{ id: 'nonsense' }, 'ann'],
    ] as const) {
      expect(await read({ session }, caller)).toMatchObject([{ __typename: 'NotFoundError', code: 'NOT_FOUND' }])
    }
  })

  it('both an id and an address is a malformed request', async () => {
    await expect(read({ session: { id: told, address: 'test:told' } })).rejects.toThrow('Server responded with 400')
  })
})

describe('a subscription is asked again every minute whose it is', () => {
  it('and goes on while nothing has changed', async () => {
    const id = await converse(api, 'ann', ['one'], 'test:goes-on')
    const batches = follow({ session: { id } })
    await until(batches, 'SESSION_WAITING')
    await clock.advance(REAUTHENTICATE_MS * 3)
    await converse(api, 'ann', ['two'], 'test:goes-on')
    await until(batches, 'SESSION_WAITING')
    await batches.return()
    await api.readers.until(0)
  })

  it('and ends with UNAUTHENTICATED when the credentials are not good any more', async () => {
    const batches = follow({ session: { id: told } })
    await until(batches, 'SESSION_WAITING')
    known.set('ann', false)
    await clock.advance(REAUTHENTICATE_MS)
    known.set('ann', true)
    const last = await batches.next()
    expect(last.value).toMatchObject({ data: null, errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    expect((await batches.next()).done).toBe(true)
    await api.readers.until(0)
  })

  it('and ends with NotFoundError when the session may not be seen any more', async () => {
    const batches = follow({ session: { id: told } })
    await until(batches, 'SESSION_WAITING')
    await api.prisma.session.update({ where: { id: told }, data: { ownerId: 'somebody' } })
    await api.prisma.delivery.updateMany({ where: { sessionId: told }, data: { byId: 'somebody' } })
    await clock.advance(REAUTHENTICATE_MS)
    expect((await batches.next()).value).toMatchObject({ data: { sessionEvents: { __typename: 'NotFoundError', id: told } } })
    expect((await batches.next()).done).toBe(true)
    await vi.waitFor(() => expect(clock.pending).toBe(0))
  })
})

describe('a server that stops', () => {
  it('ends what has not come to its end with UNAVAILABLE, instead of completing it', async () => {
    const stopping = await startApi()
    const id = await converse(stopping, 'ann', ['one'])
    const live = follow({ session: { id } }, 'ann', stopping.url)
    await until(live, 'SESSION_WAITING')
    stopping.feed.close()
    const told = { errors: [{ message: 'The server is stopping; resume from your cursor.', extensions: { code: 'UNAVAILABLE' } }] }
    expect((await live.next()).value).toMatchObject(told)
    expect((await live.next()).done).toBe(true)
    for (const given of [{ follow: true }, { follow: false }])
      expect((await follow({ session: { id }, ...given }, 'ann', stopping.url).next()).value).toMatchObject(told)
    expect(stopping.errors).toEqual([])
    await stopping.close()
  })
})

describe('a fault on the way', () => {
  it('is masked, and ends the subscription', async () => {
    await api.prisma.$executeRaw`ALTER TABLE session_head RENAME TO gone`
    try {
      const messages: Message[] = []
      for await (const message of follow({ session: { id: told } })) messages.push(message)
      expect(messages).toMatchObject([{ errors: [{ extensions: { code: 'INTERNAL_SERVER_ERROR' } }] }])
      expect(JSON.stringify(messages)).not.toMatch(/session_head|prisma/i)
    } finally {
      await api.prisma.$executeRaw`ALTER TABLE gone RENAME TO session_head`
    }
  })
})
