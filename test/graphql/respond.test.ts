import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createIdSource, type RequestId, type SessionId } from '../../server/ids.js'
import type { Request } from '../../server/session/requests.js'
import { startApi, type Api } from './api.js'
import { createMutator, type Mutator, type Outcome } from './mutate.js'
import { CLERK, insertRequest, question, tell } from './people.js'

let api: Api
let mutator: Mutator
const ids = createIdSource()

beforeAll(async () => {
  api = await startApi({ agents: [CLERK] })
  mutator = createMutator(api)
})
afterAll(() => api.close())

const MANAGER = 'max;requests:answer,role:manager'
const APPROVE = { decision: 'APPROVE' }
const FOR_MANAGERS = { reviewers: ['role:manager'] }

/** A session of ann's that nobody drives, and what it asks. */
async function ask(...changes: readonly Partial<Request>[]): Promise<{ readonly id: SessionId; readonly asked: readonly RequestId[] }> {
  const id = await mutator.create()
  const asked: RequestId[] = []
  for (const change of changes) asked.push(await insertRequest(api, id, change))
  return { id, asked }
}

interface Said {
  readonly more?: object
  readonly caller?: string
}

function respond(
  id: string,
  answers: readonly (readonly [string | undefined, object])[],
  { more = {}, caller = 'ann' }: Said = {},
): Promise<Outcome> {
  const given = answers.map(([requestId, value]) => ({ requestId, value }))
  return mutator.run('respond', { session: { id }, answers: given, ...more }, caller)
}

async function issuesOf(id: string, ...answers: readonly (readonly [string | undefined, object])[]) {
  const { issues } = (await respond(id, answers)) as { issues?: readonly { path: readonly string[] }[] }
  return issues?.map(({ path }) => path.join('.'))
}

describe('respond', () => {
  it('runs the call that was approved, as the one whom the turn serves, and keeps who approved it and why', async () => {
    const { sessionId, requests } = await tell(api, 'refund 1042')
    const answers = [{ requestId: requests[0], value: APPROVE, reason: 'a regular' }]
    const outcome = await mutator.run('respond', { session: { id: sessionId }, answers }, MANAGER)
    expect(outcome).toMatchObject({
      __typename: 'DeliveryPayload',
      duplicate: false,
      session: { id: sessionId },
      delivery: { kind: 'ANSWERS', position: 2, by: { id: 'max' }, policy: null, text: null },
    })
    await api.world.untilRest(sessionId)
    const query = `query ($id: ID!) { session(id: $id) { status transcript { text } turns { nodes { servedPrincipal { id } toolCalls { nodes { status output
      requests { status answer { decision optionIds text json reason by { id } } } } } } } } }`
    const answer = { decision: 'APPROVE', optionIds: [], text: null, json: null, reason: 'a regular', by: { id: 'max' } }
    const call = { status: 'COMPLETED', output: { paid: 1042 }, requests: [{ status: 'ANSWERED', answer }] }
    expect((await api.as('ann', query, { id: sessionId })).data).toEqual({
      session: {
        status: 'IDLE',
        transcript: [{ text: 'refund 1042' }, { text: 'Read: {"paid":1042}' }],
        turns: { nodes: [{ servedPrincipal: { id: 'ann' }, toolCalls: { nodes: [call] } }] },
      },
    })
  })

  it('takes several answers at once, of every kind, all or none', async () => {
    const { sessionId, requests } = await tell(api, 'wire + ask + ask red green')
    const [wire, words, choice] = requests
    expect(
      await respond(sessionId, [
        [wire, { decision: 'DENY' }],
        [words, { text: '' }],
        [choice, { text: 'blue' }],
      ]),
    ).toMatchObject({
      issues: [{ path: ['answers', '2', 'value', 'text'] }],
    })
    const all = await respond(sessionId, [
      [wire, { decision: 'DENY' }],
      [words, { json: false }],
      [choice, { optionIds: ['option-2'] }],
    ])
    expect(all).toMatchObject({ __typename: 'DeliveryPayload' })
    const log = await api.world.untilRest(sessionId)
    const outputs = log.flatMap((event) => (event.type === 'TOOL_CALL_END' ? [event.data.output] : []))
    expect(outputs).toEqual([null, { json: false }, { selected: ['green'] }])
  })

  it('finds the session by an address that it holds', async () => {
    const { id, asked } = await ask({})
    await mutator.run('claimAddress', { session: id, address: 'slack:desk' })
    const answers = [{ requestId: asked[0], value: APPROVE }]
    expect(await mutator.run('respond', { session: { address: 'slack:other' }, answers })).toMatchObject({
      __typename: 'NotFoundError',
      id: null,
    })
    expect(await mutator.run('respond', { session: { address: 'slack:desk' }, answers })).toMatchObject({ session: { id } })
    const other = await ask({})
    const foreign = [{ requestId: other.asked[0], value: APPROVE }]
    expect(await mutator.run('respond', { session: { address: 'slack:desk' }, answers: foreign })).toMatchObject({
      __typename: 'NotFoundError',
      id: other.asked[0],
    })
  })

  it('shows what was answered at once, before anybody has acted on it', async () => {
    const { id, asked } = await ask(question('QUESTION', []))
    await respond(id, [[asked[0], { text: '' }]])
    const query = `query ($id: ID!) { session(id: $id) { answered: requests(status: [ANSWERED]) { nodes { status answer { text by { id } } } }
      pending: requests(status: [PENDING]) { nodes { id } } } }`
    expect((await api.as('ann', query, { id })).data).toEqual({
      session: { answered: { nodes: [{ status: 'ANSWERED', answer: { text: '', by: { id: 'ann' } } }] }, pending: { nodes: [] } },
    })
  })
})

describe('who may respond', () => {
  it('a reviewer who may not see the session; of it he is shown no more than an outline', async () => {
    const { id, asked } = await ask(FOR_MANAGERS)
    await mutator.run('updateSession', { session: id, title: 'Order 1042', metadata: { secret: 1 } })
    const mutation = `mutation ($input: RespondInput!) { respond(input: $input) { ... on DeliveryPayload { delivery { turn { id } }
      session { id title status metadata usage { totalTokens } deliveries { nodes { id } } events { nodes { id } } turns { nodes { id } } requests { nodes { id } } transcript { text } } } } }`
    const input = { session: { id }, answers: [{ requestId: asked[0], value: APPROVE }], idempotencyKey: 'outline' }
    const outline = {
      ...{ id, title: 'Order 1042', status: 'CREATED', metadata: {}, usage: { totalTokens: null }, transcript: [] },
      ...{ deliveries: { nodes: [] }, events: { nodes: [] }, turns: { nodes: [] }, requests: { nodes: [] } },
    }
    for (const caller of ['max;sessions:read,sessions:write,role:manager', 'max;requests:answer,role:manager']) {
      expect((await api.as(caller, mutation, { input })).data).toEqual({ respond: { delivery: { turn: null }, session: outline } })
      expect((await api.as(caller, 'query ($id: ID!) { session(id: $id) { id } }', { id })).data).toEqual({ session: null })
    }
  })

  it('others are told who, and the request stays open', async () => {
    const { id, asked } = await ask({ reviewers: ['role:manager', 'principal:bob', 'scope:admin'] })
    expect(await respond(id, [[asked[0], APPROVE]])).toEqual({
      __typename: 'ForbiddenError',
      code: 'FORBIDDEN',
      message: `Request ${asked[0]} is to be answered by the role manager or bob or the scope admin; it stays open.`,
    })
    const served = await ask({})
    expect(await respond(served.id, [[served.asked[0], APPROVE]], { caller: 'eve;sessions:read-all,sessions:write' })).toMatchObject({
      message: `Request ${served.asked[0]} is to be answered by ann, whom the turn serves; it stays open.`,
    })
    expect(await respond(id, [[asked[0], APPROVE]], { caller: 'bob;requests:answer' })).toMatchObject({ __typename: 'DeliveryPayload' })
    const again = await ask({ reviewers: ['scope:webhooks:manage'] })
    expect(await respond(again.id, [[again.asked[0], APPROVE]], { caller: 'root;admin' })).toMatchObject({ __typename: 'DeliveryPayload' })
  })

  it('to whoever may neither see nor answer it there is no such request', async () => {
    const { id, asked } = await ask({}, FOR_MANAGERS)
    const anyones = await ask({ served: { tenant: 'default', id: 'guest', kind: 'ANONYMOUS' } })
    const missing = ids.next('req')
    const none = (requestId: string | undefined) => ({
      __typename: 'NotFoundError',
      id: requestId,
      message: `No request ${requestId} of this session that you may see.`,
    })
    for (const [session, requestId, caller] of [
      [id, asked[0], 'bob'],
      [id, asked[1], 'bob'],
      [id, asked[1], 'max@other;requests:answer,role:manager,admin'],
      [id, missing, 'ann'],
      [ids.next('ses'), asked[0], 'ann'],
      [anyones.id, asked[0], 'ann'],
      [anyones.id, anyones.asked[0], 'bob'],
    ] as const) {
      expect(await respond(session, [[requestId, APPROVE]], { caller })).toMatchObject(none(requestId))
    }
    expect(await respond(anyones.id, [[anyones.asked[0], APPROVE]])).toMatchObject({ __typename: 'DeliveryPayload' })
  })

  it('nobody without a scope for it', async () => {
    const { id, asked } = await ask({})
    expect(await respond(id, [[asked[0], APPROVE]], { caller: 'ann;sessions:read' })).toMatchObject({
      __typename: 'ForbiddenError',
      message: 'This takes the scope sessions:write or requests:answer, which your credentials do not have.',
    })
  })
})

describe('what does not fit is told with its place, and nothing is accepted', () => {
  it('in the list of answers', async () => {
    const { id, asked } = await ask({}, {})
    const many = Array.from({ length: 101 }, () => [ids.next('req'), APPROVE] as const)
    expect(await issuesOf(id)).toEqual(['answers'])
    expect(await issuesOf(id, ...many)).toEqual(['answers'])
    expect(await issuesOf(id, [asked[0], APPROVE], [asked[1], APPROVE], [asked[0], { decision: 'DENY' }])).toEqual(['answers.2.requestId'])
    expect(await issuesOf(id, [id, APPROVE])).toEqual(['answers.0.requestId'])
  })

  it('in a value', async () => {
    const { id, asked } = await ask(
      {},
      question('AUTHORIZATION', ['deny'], { url: 'https://example.com/in' }),
      question('QUESTION', ['red']),
    )
    const [approval, signIn, choice] = asked
    expect(await issuesOf(id, [approval, { text: 'yes' }], [signIn, APPROVE], [choice, { optionIds: ['red', 'blue'] }])).toEqual([
      'answers.0.value.text',
      'answers.1.value.decision',
      'answers.2.value.optionIds.1',
    ])
    const { errors } = await api.as(
      'ann',
      `mutation { respond(input: { session: { id: "${id}" }, answers: [{ requestId: "${approval}", value: { decision: DENY, text: "" } }] }) { __typename } }`,
    )
    expect(errors).toMatchObject([{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }])
  })

  it('and what is too long is a limit', async () => {
    const { id, asked } = await ask(question('QUESTION', []))
    expect(await respond(id, [[asked[0], { text: 'x'.repeat(300_000) }]])).toMatchObject({ __typename: 'LimitExceededError' })
    expect(await respond(id, [[asked[0], { json: ['x'.repeat(300_000)] }]])).toMatchObject({ __typename: 'LimitExceededError' })
    const answers = [{ requestId: asked[0], value: { text: 'x' }, reason: 'x'.repeat(1001) }]
    expect(await mutator.run('respond', { session: { id }, answers })).toMatchObject({ __typename: 'LimitExceededError' })
    expect(await respond(id, [[asked[0], { text: 'x' }]])).toMatchObject({ __typename: 'DeliveryPayload' })
  })
})
