import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createOpenApprovals } from '../../server/graphql/open-approvals.js'
import { systemClock } from '../../server/clock.js'
import { startApi, type Api } from './api.js'
import { createMutator, type Mutator } from './mutate.js'
import { CLERK, insertRequest, tell } from './people.js'

interface Batch {
  readonly pendingApprovals?: readonly string[]
  readonly events: readonly { readonly type: string }[]
}

let api: Api
let mutator: Mutator
beforeAll(async () => {
  api = await startApi({ agents: [CLERK] })
  mutator = createMutator(api)
})
afterAll(() => api.close())

const WITH = 'pendingApprovals events { type }'

async function* follow(id: string, selection: string, more: object = {}, caller = 'ann'): AsyncGenerator<Batch> {
  const query = `subscription ($id: ID!, $follow: Boolean! = true, $last: Int) { sessionEvents(session: { id: $id }, follow: $follow, last: $last) {
    ... on SessionEventsBatch { ${selection} } } }`
  const client = createClient({ url: api.url, headers: { 'x-caller': caller }, retryAttempts: 0 })
  try {
    for await (const message of client.iterate<{ sessionEvents: Batch }>({ query, variables: { id, ...more } })) {
      if (message.data) yield message.data.sessionEvents
    }
  } finally {
    client.dispose()
  }
}

async function until(batches: AsyncGenerator<Batch>, type: string): Promise<Batch> {
  for (;;) {
    const next = await batches.next()
    if (next.done === true) throw new Error(`completed before ${type}`)
    if (next.value.events.some((event) => event.type === type)) return next.value
  }
}

/** Statements that ask which approvals are open. */
function countReads(): number {
  return api.takeStatements().filter((sql) => sql.startsWith('SELECT "public"."request"."id", "public"."request"."session_id" FROM')).length
}

describe('pendingApprovals of a batch of events', () => {
  it('are the approvals that are open by then, no questions, and none that was answered', async () => {
    const { sessionId, requests } = await tell(api, 'refund 1 + ask + wire')
    const [refund, , wire] = requests
    const batches = follow(sessionId, WITH, { last: 0 })
    expect(await batches.next()).toMatchObject({ value: { pendingApprovals: [refund, wire], events: [] } })
    const answers = [{ requestId: wire, value: { decision: 'DENY' } }]
    await mutator.run('respond', { session: { id: sessionId }, answers })
    expect(await until(batches, 'APPROVAL_RESOLVED')).toMatchObject({ pendingApprovals: [refund] })
    await mutator.run('cancel', { session: { id: sessionId } })
    expect(await until(batches, 'TURN_CANCELLED')).toMatchObject({ pendingApprovals: [] })
    await batches.return(undefined)
  })

  it('are the same to all who follow, each with what else he asked for', async () => {
    const { sessionId, requests } = await tell(api, 'refund 1')
    const all = [
      follow(sessionId, WITH, { follow: false }),
      follow(sessionId, WITH, { follow: false }, 'eve;sessions:read-all'),
      follow(sessionId, 'events { type } approvals: pendingApprovals', { follow: false }),
      follow(sessionId, 'events { type }', { follow: false }),
    ]
    const [one, two, three, four] = await Promise.all(all.map((batches) => until(batches, 'TURN_WAITING')))
    expect(one).toMatchObject({ pendingApprovals: requests })
    expect(two).toEqual(one)
    expect(three).toEqual({ events: one?.events, approvals: requests })
    expect(four).toEqual({ events: one?.events })
    await Promise.all(all.map((batches) => batches.return(undefined)))
  })

  it('are read only when they are asked for', async () => {
    const { sessionId } = await tell(api, 'wire')
    const reads = async (selection: string): Promise<number> => {
      api.takeStatements()
      const batches = follow(sessionId, selection, { follow: false })
      await until(batches, 'TURN_WAITING')
      await batches.return(undefined)
      return countReads()
    }
    expect(await reads('events { type }')).toBe(0)
    expect(await reads('events { type } pendingApprovals @skip(if: true)')).toBe(0)
    expect(await reads(WITH)).toBeGreaterThan(0)
  })

  it('are read with one statement for all who ask at once', async () => {
    const openApprovals = createOpenApprovals({ prisma: api.prisma, clock: systemClock })
    const [first, second] = [await mutator.create(), await mutator.create()]
    const asked = [await insertRequest(api, first), await insertRequest(api, first)]
    await insertRequest(api, second, { expiresAt: Date.now() - 1 })
    countReads()
    expect(await Promise.all([first, second, first].map((id) => openApprovals.load(id)))).toEqual([asked, [], asked])
    expect(countReads()).toBe(1)
  })
})
