import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RequestId, SessionId } from '../../server/ids.js'
import type { Request } from '../../server/session/requests.js'
import { startApi, type Api } from './api.js'
import { createMutator, type Mutator, type Outcome } from './mutate.js'
import { CLERK, insertRequest, question, tell } from './people.js'

let api: Api
let mutator: Mutator

beforeAll(async () => {
  api = await startApi({ agents: [CLERK] })
  mutator = createMutator(api)
})
afterAll(() => api.close())

const FOR_MANAGERS = { reviewers: ['role:manager'] }

/** A session of ann's that nobody drives, and what it asks. */
async function ask(...changes: readonly Partial<Request>[]): Promise<{ readonly id: SessionId; readonly asked: readonly RequestId[] }> {
  const id = await mutator.create()
  const asked: RequestId[] = []
  for (const change of changes) asked.push(await insertRequest(api, id, change))
  return { id, asked }
}

interface Said {
  readonly caller?: string
  readonly decision?: string
}

function decide(
  id: string,
  requestIds: readonly (string | undefined)[],
  { caller = 'ann', decision = 'APPROVE' }: Said = {},
): Promise<Outcome> {
  const answers = requestIds.map((requestId) => ({ requestId, value: { decision } }))
  return mutator.run('respond', { session: { id }, answers }, caller)
}

describe('the first answer holds', () => {
  it('a second one is told of it, also before anybody has acted on the first', async () => {
    const { id, asked } = await ask(FOR_MANAGERS, FOR_MANAGERS)
    const [one, two] = asked
    await decide(id, [one], { caller: 'max;requests:answer,role:manager', decision: 'DENY' })
    const first = { decision: 'DENY', optionIds: [], text: null, json: null, reason: null, by: { id: 'max', kind: 'USER' } }
    expect(await decide(id, [two, one], { caller: 'mia;requests:answer,role:manager' })).toEqual({
      __typename: 'RequestNotPendingError',
      code: 'REQUEST_NOT_PENDING',
      message: `Request ${one} is not open any more: answered, withdrawn or expired. None of these answers was accepted; the first one holds.`,
      requests: [{ id: one, status: 'ANSWERED', answer: first }],
    })
    expect(await decide(id, [two], { caller: 'mia;requests:answer,role:manager' })).toMatchObject({ __typename: 'DeliveryPayload' })
  })

  it('of two reviewers at once: the call runs once', async () => {
    const { sessionId, requests } = await tell(api, 'refund 1')
    const both = await Promise.all(
      ['max', 'mia'].map((who) => decide(sessionId, requests, { caller: `${who};requests:answer,role:manager` })),
    )
    expect(both.map(({ __typename }) => __typename).sort()).toEqual(['DeliveryPayload', 'RequestNotPendingError'])
    const winner = both.findIndex(({ __typename }) => __typename === 'DeliveryPayload')
    expect(both[1 - winner]).toMatchObject({ requests: [{ answer: { by: { id: ['max', 'mia'][winner] } } }] })
    const log = await api.world.untilRest(sessionId)
    expect(log.filter(({ type }) => type === 'TOOL_CALL_START')).toHaveLength(1)
  })

  it('after it was settled, withdrawn or too late nothing is accepted', async () => {
    const late = await ask({ expiresAt: Date.now() - 1 })
    expect(await decide(late.id, late.asked)).toMatchObject({
      __typename: 'RequestNotPendingError',
      requests: [{ id: late.asked[0], status: 'EXPIRED', answer: null }],
    })
    const { sessionId, requests } = await tell(api, 'wire')
    await api.world.cancel(sessionId)
    await api.world.untilRest(sessionId)
    expect(await decide(sessionId, requests)).toMatchObject({ requests: [{ status: 'CANCELLED', answer: null }] })
    const answered = await tell(api, 'wire')
    await decide(answered.sessionId, answered.requests)
    await api.world.untilRest(answered.sessionId)
    expect(await decide(answered.sessionId, answered.requests)).toMatchObject({
      requests: [{ status: 'ANSWERED', answer: { by: { id: 'ann' } } }],
    })
  })

  it('an ended session takes none', async () => {
    const { sessionId, requests } = await tell(api, 'wire')
    await api.world.end(sessionId)
    await api.world.until(sessionId, (log) => log.at(-1)?.type === 'SESSION_CANCELLED')
    expect(await decide(sessionId, requests)).toMatchObject({
      __typename: 'SessionEndedError',
      session: { id: sessionId, status: 'CANCELLED' },
    })
  })
})

describe('an idempotency key', () => {
  it('gives the same delivery again, whatever became of the request, the session and its address', async () => {
    const { sessionId, requests } = await tell(api, 'wire')
    await mutator.run('claimAddress', { session: sessionId, address: 'slack:once' })
    const answers = [{ requestId: requests[0], value: { decision: 'APPROVE' } }]
    const byId = { session: { id: sessionId }, answers, idempotencyKey: 'by-id' }
    const first = await mutator.run('respond', byId)
    expect(first).toMatchObject({ duplicate: false })
    const again = {
      __typename: 'DeliveryPayload',
      duplicate: true,
      delivery: { id: (first['delivery'] as { id: string }).id, kind: 'ANSWERS' },
    }
    expect(await mutator.run('respond', byId)).toMatchObject(again)
    await api.world.untilRest(sessionId)
    expect(await mutator.run('respond', byId)).toMatchObject({ ...again, delivery: { status: 'APPLIED' } })

    const held = await ask({})
    await mutator.run('claimAddress', { session: held.id, address: 'slack:held' })
    const byAddress = {
      session: { address: 'slack:held' },
      answers: [{ requestId: held.asked[0], value: { decision: 'DENY' } }],
      idempotencyKey: 'by-address',
    }
    const there = await mutator.run('respond', byAddress)
    await mutator.run('releaseAddress', { session: held.id, address: 'slack:held' })
    expect(await mutator.run('respond', byAddress)).toMatchObject({ duplicate: true, delivery: there['delivery'] })
    await mutator.create({ addresses: ['slack:held'] })
    expect(await mutator.run('respond', byAddress)).toMatchObject({ duplicate: true, delivery: there['delivery'] })

    await api.world.end(sessionId)
    await api.world.until(sessionId, (log) => log.at(-1)?.type === 'SESSION_COMPLETED')
    expect(await mutator.run('respond', byId)).toMatchObject(again)
  })

  it('used for another answer is a mismatch', async () => {
    const { id, asked } = await ask(question('QUESTION', []))
    const said = (text: string) =>
      mutator.run('respond', { session: { id }, answers: [{ requestId: asked[0], value: { text } }], idempotencyKey: 'words' })
    expect(await said('one')).toMatchObject({ duplicate: false })
    expect(await said('two')).toMatchObject({ __typename: 'IdempotencyMismatchError' })
    expect(await said('one')).toMatchObject({ duplicate: true })
  })
})
