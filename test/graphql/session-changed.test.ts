import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { CHANGE_INTERVAL_MS, REAUTHENTICATE_MS } from '../../server/graphql/limits.js'
import type { SessionId } from '../../server/ids.js'
import { createFakeClock } from '../support/fake-clock.js'
import { authenticateByHeader, startApi, type Api } from './api.js'

const QUERY = `subscription ($filter: SessionFilter) { sessionChanged(filter: $filter) { matches session { id title status cursor } } }`
interface Change {
  readonly matches: boolean
  readonly session: { readonly id: string; readonly title: string | null }
}
interface Message {
  readonly data?: { readonly sessionChanged: Change } | null
}

const clock = createFakeClock()
let scopes = 'sessions:read,sessions:write'
let isKnown = true
let api: Api

beforeAll(async () => {
  api = await startApi({
    clock,
    authenticate: (request) => {
      const caller = authenticateByHeader(request)
      return isKnown && caller?.id === 'ann'
        ? { ...caller, scopes: caller.scopes.filter((scope) => scopes.includes(scope)) }
        : isKnown
          ? caller
          : null
    },
  })
})
afterAll(() => api.close())

/** Begins to follow, and resolves once no later change can be missed. */
async function open(filter: object | null = null, caller = 'ann') {
  const before = api.readers.count
  const client = createClient({ url: api.url, headers: { 'x-caller': caller }, retryAttempts: 0 })
  const changes = client.iterate({ query: QUERY, variables: { filter } }) as unknown as AsyncGenerator<Message, void>
  let next = changes.next()
  await api.readers.until(before + 1)
  return {
    async take(): Promise<Change | null> {
      const taken = await next
      if (taken.done !== true) next = changes.next()
      return taken.done === true ? null : (taken.value.data?.sessionChanged ?? null)
    },
    /** The message as it came. */
    takeRaw: () => next,
    async leave(): Promise<void> {
      await changes.return()
      client.dispose()
      await api.readers.until(before)
    },
  }
}

async function create(title: string, caller = 'ann'): Promise<SessionId> {
  const mutation = `mutation ($title: String) { createSession(input: { session: { agent: "support", title: $title } }) { ... on CreateSessionPayload { session { id } } } }`
  const { data } = await api.as<{ createSession: { session: { id: SessionId } } }>(caller, mutation, { title })
  return data.createSession.session.id
}

async function rename(id: string, title: string): Promise<void> {
  const mutation = `mutation ($id: ID!, $title: String) { updateSession(input: { session: $id, title: $title }) { __typename } }`
  expect((await api.as('ann', mutation, { id, title })).data).toEqual({ updateSession: { __typename: 'SessionPayload' } })
}

describe('sessionChanged', () => {
  it('tells of a new session, and of each change at most once a second, as it is then', async () => {
    const changes = await open()
    const id = await create('one')
    expect(await changes.take()).toMatchObject({ matches: true, session: { id, title: 'one' } })
    await rename(id, 'two')
    await rename(id, 'three')
    const other = await create('other')
    expect(await changes.take()).toMatchObject({ session: { id: other } })
    await clock.advance(CHANGE_INTERVAL_MS)
    expect(await changes.take()).toMatchObject({ matches: true, session: { id, title: 'three' } })
    await changes.leave()
  })

  it('tells once that a session has ceased to match, also one that matched before it was listening, and again when it matches', async () => {
    const id = await create('open')
    const changes = await open({ title: 'open' })
    await rename(id, 'shut')
    expect(await changes.take()).toMatchObject({ matches: false, session: { id, title: 'shut' } })
    await clock.advance(CHANGE_INTERVAL_MS)
    await rename(id, 'shut for good')
    await clock.advance(CHANGE_INTERVAL_MS)
    await rename(id, 'open again')
    await clock.advance(CHANGE_INTERVAL_MS)
    expect(await changes.take()).toMatchObject({ matches: true, session: { id, title: 'open again' } })
    await changes.leave()
  })

  it("tells nobody of sessions that he may not see, and every one of a tenant's to those who may", async () => {
    const bob = await open(null, 'bob')
    const all = await open(null, 'root;sessions:read-all')
    const anns = await create("ann's")
    expect(await all.take()).toMatchObject({ session: { id: anns } })
    const bobs = await create("bob's", 'bob')
    expect(await bob.take()).toMatchObject({ session: { id: bobs } })
    await all.leave()
    await bob.leave()
  })

  it('ends with UNAUTHENTICATED when the credentials are not good any more, and forgets what a caller may no longer see', async () => {
    const changes = await open()
    scopes = 'sessions:write'
    await clock.advance(REAUTHENTICATE_MS)
    scopes = 'sessions:read,sessions:write'
    const sawNothing = await create('unseen')
    await vi.waitFor(() => expect(api.prisma.session.count({ where: { id: sawNothing } })).resolves.toBe(1))
    isKnown = false
    await clock.advance(REAUTHENTICATE_MS)
    isKnown = true
    expect((await changes.takeRaw()).value).toMatchObject({ data: null, errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    await api.readers.until(0)
    await vi.waitFor(() => expect(clock.pending).toBe(0))
  })
})
