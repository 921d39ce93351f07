import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { visibleTo } from '../../server/graphql/access.js'
import { createIdSource, type SessionId } from '../../server/ids.js'
import { converse, startApi, type Api } from './api.js'

let api: Api
let anns: SessionId
let nodeIds: string[]

beforeAll(async () => {
  api = await startApi()
  anns = await converse(api, 'ann', ['time'], 'slack:anns')
  const query = `query ($id: ID!) { session(id: $id) { deliveries { nodes { id } } turns { nodes { id steps { nodes { id } } toolCalls { nodes { id } } } } } }`
  const found = JSON.stringify((await api.as('ann', query, { id: anns })).data)
  nodeIds = [anns, ...(found.match(/(turn|stp|call|dlv)_[0-9a-z]{26}/g) ?? [])]
  expect(new Set(nodeIds.map((id) => id.split('_')[0]))).toEqual(new Set(['ses', 'turn', 'stp', 'call', 'dlv']))
})
afterAll(() => api.close())

const EVERYTHING = `query ($id: ID!, $ids: [ID!]!) { session(id: $id) { id } sessionByAddress(address: "slack:anns") { id } sessions { nodes { id } }
  agent(name: "hello") { sessions { nodes { id } } } nodes(ids: $ids) { id } }`

function see(caller: string) {
  return api.as(caller, EVERYTHING, { id: anns, ids: nodeIds })
}

const nothing = () => ({
  session: null,
  sessionByAddress: null,
  sessions: { nodes: [] },
  agent: { sessions: { nodes: [] } },
  nodes: nodeIds.map(() => null),
})
const all = () => ({
  session: { id: anns },
  sessionByAddress: { id: anns },
  sessions: { nodes: [{ id: anns }] },
  agent: { sessions: { nodes: [{ id: anns }] } },
  nodes: nodeIds.map((id) => ({ id })),
})

describe('who may see a session', () => {
  it.each([
    ['its owner', 'ann', all],
    ['its owner without a scope to read', 'ann;sessions:write', nothing],
    ['another principal', 'bob', nothing],
    ['another who may read all of the tenant', 'bob;sessions:read-all', all],
    ['an admin', 'root;admin', all],
    ['an admin of another tenant', 'root@other;admin', nothing],
    ['a namesake in another tenant', 'ann@other', nothing],
  ])('%s', async (_, caller, expected) => {
    expect(await see(caller)).toEqual({ status: 200, data: expected() })
  })

  it('whoever had a delivery accepted by it, from then on', async () => {
    const member = 'carl;sessions:read-all,sessions:write'
    const plain = 'carl;sessions:read'
    expect((await see(plain)).data).toEqual(nothing())
    const send = `mutation ($id: ID!) { send(input: { to: { session: $id }, message: { text: "and I?" } }) { __typename } }`
    expect((await api.as(member, send, { id: anns })).data).toEqual({ send: { __typename: 'SendPayload' } })
    await api.world.untilRest(anns)
    expect((await see(plain)).data).toMatchObject({ session: { id: anns }, sessionByAddress: { id: anns } })
  })

  it('is decided by one condition, that of the kind of principal included', () => {
    const caller = { tenant: 't', id: 'x', kind: 'SERVICE', scopes: ['sessions:read'] } as const
    const own = { ownerId: 'x', ownerKind: 'SERVICE' }
    expect(visibleTo(caller)).toEqual({
      tenant: 't',
      OR: [own, { deliveries: { some: { byId: 'x', byKind: 'SERVICE', kind: { not: 'ANSWERS' } } } }],
    })
  })
})

describe('who may write to a session', () => {
  const MUTATIONS = `mutation ($id: ID!, $to: SendTarget!) {
    send(input: { to: $to, message: { text: "let me in" } }) { __typename ... on Problem { message } }
    cancel(input: { session: { address: "slack:anns" } }) { __typename ... on Problem { message } }
    end(input: { session: { id: $id } }) { __typename ... on Problem { message } }
    updateSession(input: { session: $id, title: "mine" }) { __typename ... on Problem { message } }
  }`

  it('nobody who may not see it: it is not found, also behind its address, and nothing reaches it', async () => {
    const before = await api.prisma.delivery.count({ where: { sessionId: anns } })
    const missing = createIdSource().next('ses')
    const seen = await api.as<object>('bob', MUTATIONS, { id: anns, to: { address: { address: 'slack:anns' } } })
    const absent = await api.as<object>('bob', MUTATIONS, { id: missing, to: { session: missing } })
    for (const outcome of [...Object.values(seen.data), ...Object.values(absent.data)])
      expect(outcome).toMatchObject({ __typename: 'NotFoundError' })
    expect(Object.values(seen.data).slice(2)).toEqual(
      JSON.parse(JSON.stringify(Object.values(absent.data).slice(2)).replaceAll(missing, anns)),
    )
    const claim = { address: { address: 'slack:anns', create: { agent: 'hello' } } }
    expect((await api.as<object>('bob', MUTATIONS, { id: missing, to: claim })).data).toMatchObject({
      send: {
        __typename: 'AddressTakenError',
        message: 'An open session that you may not see holds the address "slack:anns"; choose another.',
      },
    })
    expect(await api.prisma.delivery.count({ where: { sessionId: anns } })).toBe(before)
  })

  it('nobody without the scope to write, whoever it is', async () => {
    const { data } = await api.as<object>('ann;sessions:read', MUTATIONS, { id: anns, to: { session: anns } })
    const message = 'This takes the scope sessions:write, which your credentials do not have.'
    expect(Object.values(data)).toEqual(Array.from({ length: 4 }, () => ({ __typename: 'ForbiddenError', message })))
  })
})

describe('who asks', () => {
  it('is told', async () => {
    const query = '{ viewer { tenant id kind name } }'
    expect((await api.as('ann@acme', query)).data).toEqual({ viewer: { tenant: 'acme', id: 'ann', kind: 'USER', name: null } })
  })

  it('nobody known is refused with UNAUTHENTICATED and 401', async () => {
    const { status, data, errors } = await api.as(null, '{ __typename }')
    expect(status).toBe(401)
    expect(data).toBeUndefined()
    expect(errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }])
  })
})
