import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CHANGE_INTERVAL_MS, REAUTHENTICATE_MS } from '../../server/graphql/limits.js'
import type { SessionId } from '../../server/ids.js'
import { createFakeClock } from '../support/fake-clock.js'
import { authenticateByHeader, startApi, type Api } from './api.js'
import { createMutator, type Mutator } from './mutate.js'
import { CLERK, insertRequest, tell } from './people.js'

const QUERY = `subscription ($kind: [InputRequestKind!], $agent: [String!], $sessionId: ID) {
  inputRequestChanged(kind: $kind, agent: $agent, sessionId: $sessionId) { id status kind sessionId session { id } toolCall { name } answer { decision by { id } } } }`
interface Changed {
  readonly id: string
  readonly status: string
}
interface Message {
  readonly data?: { readonly inputRequestChanged: Changed } | null
}

/** Near the time of the database, which says when something was settled. */
const clock = createFakeClock(Date.now())
let api: Api
let mutator: Mutator
beforeAll(async () => {
  api = await startApi({ clock, agents: [CLERK] })
  mutator = createMutator(api)
})
afterAll(() => api.close())

const MANAGER = 'max;sessions:read,requests:answer,role:manager'

/** Begins to follow, and resolves once no later change can be missed. */
async function open(variables: object = {}, caller = MANAGER, of = api) {
  const before = of.readers.count
  const client = createClient({ url: of.url, headers: { 'x-caller': caller }, retryAttempts: 0 })
  const changes = client.iterate({ query: QUERY, variables: { ...variables } }) as unknown as AsyncGenerator<Message, void>
  let next = changes.next()
  await of.readers.until(before + 1)
  return {
    async take(): Promise<Changed | null> {
      const taken = await next
      if (taken.done !== true) next = changes.next()
      return taken.done === true ? null : (taken.value.data?.inputRequestChanged ?? null)
    },
    takeRaw: () => next,
    async leave(): Promise<void> {
      await changes.return()
      client.dispose()
      await of.readers.until(before)
    },
  }
}

function respond(id: string, requestId: string | undefined, decision: string, caller = MANAGER) {
  return mutator.run('respond', { session: { id }, answers: [{ requestId, value: { decision } }] }, caller)
}

/** Tells of a change of a session that nobody drives, as its driver would, and waits until it may be told on. */
async function announce(sessionId: SessionId): Promise<void> {
  api.coordinator.announce(sessionId)
  await clock.advance(CHANGE_INTERVAL_MS)
}

describe('inputRequestChanged', () => {
  it('tells of what was opened and what became of it, with its call and its answer', async () => {
    const changes = await open()
    const { sessionId, requests } = await tell(api, 'refund 1 + refund 2')
    const [one, two] = requests
    await clock.advance(CHANGE_INTERVAL_MS)
    const opened = { status: 'PENDING', kind: 'APPROVAL', sessionId, session: null, toolCall: { name: 'refund' }, answer: null }
    expect(await changes.take()).toEqual({ id: one, ...opened })
    expect(await changes.take()).toEqual({ id: two, ...opened })
    await respond(sessionId, two, 'DENY')
    await clock.advance(CHANGE_INTERVAL_MS)
    expect(await changes.take()).toMatchObject({ id: two, status: 'ANSWERED', answer: { decision: 'DENY', by: { id: 'max' } } })
    await mutator.run('cancel', { session: { id: sessionId } })
    await api.world.untilRest(sessionId)
    await clock.advance(CHANGE_INTERVAL_MS)
    expect(await changes.take()).toMatchObject({ id: one, status: 'CANCELLED', answer: null })
    await changes.leave()
  })

  it('tells of one that was opened before, once it is settled, and of none that was settled before', async () => {
    const { sessionId, requests } = await tell(api, 'refund 1 + refund 2')
    const [one, two] = requests
    await respond(sessionId, one, 'APPROVE')
    await api.world.until(sessionId, (log) => log.some(({ type }) => type === 'TOOL_CALL_END'))
    await api.prisma.request.update({ where: { id: one ?? '' }, data: { settledAt: new Date(Date.now() - 120_000) } })
    const changes = await open({ sessionId })
    await respond(sessionId, two, 'APPROVE')
    expect(await changes.take()).toMatchObject({ id: two, status: 'ANSWERED' })
    await changes.leave()
  })

  it('tells of one that was settled while the session waits on, as before', async () => {
    const changes = await open({ agent: ['clerk'] })
    const { sessionId } = await tell(api, 'wire + rush')
    await api.world.until(sessionId, (log) => log.some(({ type }) => type === 'APPROVAL_RESOLVED'))
    await clock.advance(CHANGE_INTERVAL_MS)
    let told = await changes.take()
    while (told?.status !== 'EXPIRED') {
      await clock.advance(CHANGE_INTERVAL_MS)
      told = await changes.take()
    }
    expect(told).toMatchObject({ sessionId, toolCall: { name: 'rush' }, answer: null })
    await changes.leave()
  })

  it('tells nobody what is for others, and of other kinds, agents or sessions than were asked for', async () => {
    const anns = await open({}, 'ann')
    const questions = await open({ kind: ['QUESTION'] })
    const helps = await open({ agent: ['support'] })
    const others = await open({ sessionId: await mutator.create() })
    const id = await mutator.create()
    const forManagers = { reviewers: ['role:manager'] }
    const approval = await insertRequest(api, id, forManagers)
    const own = await insertRequest(api, id)
    const words = await insertRequest(api, id, { ...forManagers, kind: 'QUESTION' })
    await announce(id)
    expect(await anns.take()).toMatchObject({ id: own, session: { id } })
    expect(await questions.take()).toMatchObject({ id: words, session: null })
    expect(await helps.take()).toMatchObject({ id: approval })
    expect(await helps.take()).toMatchObject({ id: words })
    for (const changes of [others, helps, questions, anns]) await changes.leave()
  })

  it('is told again what has changed only', async () => {
    const id = await mutator.create()
    const changes = await open({ sessionId: id })
    const first = await insertRequest(api, id, { reviewers: ['role:manager'] })
    await announce(id)
    expect(await changes.take()).toMatchObject({ id: first })
    await announce(id)
    const second = await insertRequest(api, id, { reviewers: ['role:manager'] })
    await announce(id)
    expect(await changes.take()).toMatchObject({ id: second })
    await changes.leave()
  })

  it('goes by what the caller may now, and ends when he is nobody any more', async () => {
    let who: string | null = 'ann'
    const authenticate = (request: Request) =>
      who === null ? null : authenticateByHeader(new Request(request.url, { headers: { 'x-caller': who } }))
    const other = await startApi({ clock, authenticate })
    const id = await createMutator(other).create()
    who = MANAGER
    const changes = await open({}, MANAGER, other)
    who = 'max;sessions:read,role:boss'
    await clock.advance(REAUTHENTICATE_MS)
    await insertRequest(other, id, { reviewers: ['role:manager'] })
    const forBosses = await insertRequest(other, id, { reviewers: ['role:boss'] })
    other.coordinator.announce(id)
    expect(await changes.take()).toMatchObject({ id: forBosses })
    who = null
    await clock.advance(REAUTHENTICATE_MS)
    expect((await changes.takeRaw()).value).toMatchObject({ data: null, errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    await other.readers.until(0)
    await other.close()
  })
})
