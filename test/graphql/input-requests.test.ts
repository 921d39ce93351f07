import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RequestId, SessionId } from '../../server/ids.js'
import type { Request } from '../../server/session/requests.js'
import { startApi, type Api } from './api.js'
import { createMutator, type Mutator } from './mutate.js'
import { ANN_USER, CLERK, insertRequest, question, tell } from './people.js'

let api: Api
let mutator: Mutator

beforeAll(async () => {
  api = await startApi({ agents: [CLERK] })
  mutator = createMutator(api)
})
afterAll(() => api.close())

const MANAGER = 'max;sessions:read,role:manager'
const QUEUE = `query ($first: Int, $after: String, $status: [InputRequestStatus!] = [PENDING], $kind: [InputRequestKind!], $agent: [String!]) {
  inputRequests(first: $first, after: $after, status: $status, kind: $kind, agent: $agent) { nodes { id } pageInfo { hasNextPage endCursor } } }`

interface Queue {
  readonly inputRequests: {
    readonly nodes: readonly { readonly id: RequestId }[]
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
  }
}

async function queueOf(caller: string, variables: object = {}): Promise<readonly RequestId[]> {
  return (await api.as<Queue>(caller, QUEUE, variables)).data.inputRequests.nodes.map(({ id }) => id)
}

/** A session of ann's, or of another, that nobody drives, and what it asks. */
async function ask(
  changes: readonly Partial<Request>[],
  owner = 'ann',
): Promise<{ readonly id: SessionId; readonly asked: readonly RequestId[] }> {
  const id = await mutator.create({ title: 'Order 1042' }, owner)
  const asked: RequestId[] = []
  for (const change of changes) asked.push(await insertRequest(api, id, change))
  return { id, asked }
}

describe('inputRequests: what the caller may answer', () => {
  it('goes by name, role, scope and whom the turn serves; what anybody may answer, by who sees the session', async () => {
    const { asked } = await ask([
      { reviewers: ['principal:dora'] },
      { reviewers: ['role:boss'] },
      { reviewers: ['scope:webhooks:manage'] },
      { served: { ...ANN_USER, id: 'dan' } },
      { served: { ...ANN_USER, id: 'dan', kind: 'SERVICE' } },
      { served: { ...ANN_USER, kind: 'ANONYMOUS' } },
    ])
    const [dora, boss, scope, dan, , anyone] = asked
    expect(await queueOf('dora')).toEqual([dora])
    expect(await queueOf('eve;requests:answer,role:boss,role:other')).toEqual([boss])
    expect(await queueOf('eve;sessions:read,webhooks:manage')).toEqual([scope])
    expect(await queueOf('dan')).toEqual([dan])
    expect(await queueOf('ann')).toEqual([anyone])
    expect(await queueOf('eve;sessions:read-all,sessions:read')).toEqual([anyone])
    expect(await queueOf('root;admin')).toEqual([anyone, scope])
    for (const caller of ['eve', 'dora@other', 'dora;sessions:write', 'ann;requests:answer', 'boss'])
      expect(await queueOf(caller)).toEqual([])
  })

  it('comes newest first, in pages', async () => {
    const role = { reviewers: ['role:pager'] }
    const { asked } = await ask([role, role, role])
    const newest = [...asked].reverse()
    const caller = 'p;requests:answer,role:pager'
    expect(await queueOf(caller)).toEqual(newest)
    const { data } = await api.as<Queue>(caller, QUEUE, { first: 2 })
    expect(data.inputRequests).toEqual({
      nodes: newest.slice(0, 2).map((id) => ({ id })),
      pageInfo: { hasNextPage: true, endCursor: newest[1] },
    })
    expect(await queueOf(caller, { first: 2, after: newest[1] })).toEqual(newest.slice(2))
    expect((await api.as(caller, QUEUE, { after: 'nonsense' })).errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
  })

  it('is narrowed by status, kind and agent', async () => {
    const role = { reviewers: ['role:filter'] }
    const { id, asked } = await ask([role, question('QUESTION', [], role), { ...role, expiresAt: Date.now() - 1 }])
    const [approval, words, late] = asked
    const caller = 'f;requests:answer,role:filter'
    expect(await queueOf(caller)).toEqual([words, approval])
    expect(await queueOf(caller, { kind: ['APPROVAL'] })).toEqual([approval])
    expect(await queueOf(caller, { agent: ['support'] })).toEqual([words, approval])
    expect(await queueOf(caller, { agent: ['clerk'] })).toEqual([])
    const answers = [{ requestId: words, value: { text: '' } }]
    await mutator.run('respond', { session: { id }, answers }, caller)
    expect(await queueOf(caller)).toEqual([approval])
    expect(await queueOf(caller, { status: ['ANSWERED'] })).toEqual([words])
    expect(await queueOf(caller, { status: ['EXPIRED'] })).toEqual([late])
    expect(await queueOf(caller, { status: ['EXPIRED', 'PENDING', 'CANCELLED'] })).toEqual([late, approval])
    expect(await queueOf(caller, { status: null })).toEqual([late, words, approval])
    expect(await queueOf(caller, { status: [] })).toEqual([])
  })
})

const ALL = `id sessionId turnId toolCallId agentName kind status prompt reviewers createdAt expiresAt options { id label description } minSelections
  maxSelections allowsText authorizationUrl sessionTitle sessionStatus session { id } turn { id } toolCall { id name input status requests { id } } answer { json }`
const NODES = `query ($ids: [ID!]!) { nodes(ids: $ids) { id ... on InputRequest { ${ALL} } } }`

describe('what a reviewer sees', () => {
  it('is the request with its call, and of the session id, title, agent and status', async () => {
    const { sessionId, requests } = await tell(api, 'refund 7')
    await mutator.run('updateSession', { session: sessionId, title: 'Order 7' })
    const row = await api.prisma.request.findUniqueOrThrow({ where: { id: requests[0] ?? '' } })
    const { turnId, toolCallId } = row
    const shown = {
      ...{ id: row.id, sessionId, turnId, toolCallId, agentName: 'clerk', kind: 'APPROVAL', status: 'PENDING', prompt: 'Allow refund?' },
      ...{ reviewers: ['role:manager'], createdAt: row.createdAt.toISOString(), expiresAt: row.expiresAt?.toISOString() },
      ...{ minSelections: 1, maxSelections: 1, allowsText: false, authorizationUrl: null, answer: null },
      options: [
        { id: 'approve', label: 'Approve', description: null },
        { id: 'deny', label: 'Deny', description: null },
      ],
      ...{ sessionTitle: 'Order 7', sessionStatus: 'WAITING_FOR_APPROVAL' },
      toolCall: { id: toolCallId, name: 'refund', input: { order: 7 }, status: 'WAITING_FOR_APPROVAL', requests: [{ id: row.id }] },
    }
    const ids = [row.id, toolCallId, turnId, sessionId]
    const nodes = { nodes: [{ ...shown, session: null, turn: null }, { id: toolCallId }, null, null] }
    expect((await api.as(MANAGER, NODES, { ids })).data).toEqual(nodes)
    const own = {
      nodes: [{ ...shown, session: { id: sessionId }, turn: { id: turnId } }, { id: toolCallId }, { id: turnId }, { id: sessionId }],
    }
    expect((await api.as('ann', NODES, { ids })).data).toEqual(own)
    for (const caller of ['eve', 'max@other;sessions:read,role:manager', 'max;sessions:write,role:manager'])
      expect((await api.as(caller, NODES, { ids })).data).toEqual({ nodes: [null, null, null, null] })
  })

  it('of a call no request that is for others', async () => {
    const { id, requests } = await tell(api, 'wire').then(({ sessionId, requests: own }) => ({ id: sessionId, requests: own }))
    const { toolCallId, turnId } = await api.prisma.request.findUniqueOrThrow({ where: { id: requests[0] ?? '' } })
    const mine = await insertRequest(api, id, { reviewers: ['role:manager'], callId: toolCallId as never, turnId: turnId as never })
    const { data } = await api.as<{ nodes: readonly unknown[] }>(MANAGER, NODES, { ids: [mine, requests[0]] })
    expect(data.nodes).toMatchObject([{ toolCall: { requests: [{ id: mine }] } }, null])
    expect((await api.as('ann', NODES, { ids: [mine] })).data).toMatchObject({
      nodes: [{ toolCall: { requests: [{ id: requests[0] }, { id: mine }] } }],
    })
  })

  it('is read with one statement a relation, however many there are', async () => {
    const page = `query ($first: Int) { inputRequests(first: $first) { nodes { ${ALL} } } }`
    for (const order of [1, 2, 3, 4]) await tell(api, `refund ${order} + refund ${order}`)
    const caller = 'max;sessions:read-all,sessions:read,role:manager'
    const counts: number[] = []
    for (const first of [1, 8]) {
      api.takeStatements()
      const { data } = await api.as<Queue>(caller, page, { first })
      expect(data.inputRequests.nodes).toHaveLength(first)
      counts.push(api.takeStatements().length)
    }
    expect(counts[1]).toBe(counts[0])
  })
})

describe('Session.requests', () => {
  it('come in the order they were asked, in pages, by status', async () => {
    const { id, asked } = await ask([{}, { reviewers: ['role:manager'] }, {}])
    const query = `query ($id: ID!, $first: Int, $after: String, $status: [InputRequestStatus!]) { session(id: $id) { requests(first: $first, after: $after, status: $status) {
      nodes { id } pageInfo { hasNextPage endCursor } } } }`
    const read = async (variables: object) =>
      (await api.as<{ session: { requests: unknown } }>('ann', query, { id, ...variables })).data.session.requests
    expect(await read({})).toMatchObject({ nodes: asked.map((one) => ({ id: one })) })
    expect(await read({ first: 1 })).toEqual({ nodes: [{ id: asked[0] }], pageInfo: { hasNextPage: true, endCursor: asked[0] } })
    expect(await read({ first: 1, after: asked[0], status: ['PENDING'] })).toMatchObject({ nodes: [{ id: asked[1] }] })
    expect(await read({ status: ['CANCELLED'] })).toMatchObject({ nodes: [] })
  })
})

describe('a session that waits for somebody', () => {
  it.each([
    ['refund 1', 'WAITING_FOR_APPROVAL', 'WAITING_FOR_APPROVAL'],
    ['ask red green', 'WAITING_FOR_INPUT', 'WAITING'],
  ])('%s: %s', async (text, status, callStatus) => {
    const { sessionId } = await tell(api, text)
    const query = `query ($id: ID!) { session(id: $id) { status currentTurn { status toolCalls { nodes { status startedAt requests { kind status } } } } } }`
    const kind = status === 'WAITING_FOR_APPROVAL' ? 'APPROVAL' : 'QUESTION'
    const call = { status: callStatus, startedAt: null, requests: [{ kind, status: 'PENDING' }] }
    expect((await api.as('ann', query, { id: sessionId })).data).toEqual({
      session: { status, currentTurn: { status: 'WAITING', toolCalls: { nodes: [call] } } },
    })
  })
})

describe('what clients see of an agent that asks', () => {
  it('is how its tools and rules ask, and its budgets', async () => {
    const query = `{ agent(name: "clerk") { tools { name kind approval } approvalRules { tool description reviewers expiresAfterMs onExpire }
      limits { maxInputTokensPerSession maxOutputTokensPerSession maxCostUsdPerSession } } }`
    expect((await api.as('ann', query)).data).toEqual({
      agent: {
        tools: [
          { name: 'refund', kind: 'FUNCTION', approval: 'NEVER' },
          { name: 'wire', kind: 'FUNCTION', approval: 'ALWAYS' },
          { name: 'rush', kind: 'FUNCTION', approval: 'CONDITIONAL' },
          { name: 'ask', kind: 'BUILT_IN', approval: 'NEVER' },
        ],
        approvalRules: [
          { tool: 'refund', description: 'Money leaves.', reviewers: ['role:manager'], expiresAfterMs: 3_600_000, onExpire: 'DENY' },
        ],
        limits: { maxInputTokensPerSession: null, maxOutputTokensPerSession: null, maxCostUsdPerSession: null },
      },
    })
  })
})
