import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { converse, startApi, type Api } from './api.js'

let api: Api
beforeAll(async () => {
  api = await startApi()
  const create = `mutation ($agent: String!, $title: String, $addresses: [String!]!) {
    createSession(input: { session: { agent: $agent, title: $title, addresses: $addresses } }) { ... on CreateSessionPayload { session { id } } } }`
  await api.as('ann', create, { agent: 'support', title: 'Refund 100%', addresses: ['slack:one'] })
  await api.as('ann', create, { agent: 'support', title: 'Other', addresses: [] })
  await converse(api, 'ann', ['hi'])
  await api.as('bob', create, { agent: 'support', title: "bob's", addresses: [] })
})
afterAll(() => api.close())

describe('sessions are filtered', () => {
  it.each([
    ['nothing', {}, 3],
    ['agent', { agent: ['hello'] }, 1],
    ['several agents', { agent: ['hello', 'support'] }, 3],
    ['no agent', { agent: [] }, 0],
    ['status', { status: ['CREATED'] }, 2],
    ['owner', { owner: 'bob' }, 0],
    ['address', { address: 'slack:one' }, 1],
    ['a piece of the title, in any case', { title: 'REFUND' }, 1],
    ['a title with a wildcard in it, literally', { title: '100%' }, 1],
    ['a title that is only a wildcard', { title: '%e' }, 0],
    ['time', { createdAfter: '2000-01-01T00:00:00Z', createdBefore: '2001-01-01T00:00:00Z' }, 0],
    ['change', { updatedAfter: '2000-01-01T00:00:00+02:00' }, 3],
    ['several at once', { agent: ['support'], title: 'other', status: ['CREATED', 'IDLE'] }, 1],
  ])('by %s', async (_, filter, count) => {
    const query = `query ($filter: SessionFilter) { sessions(filter: $filter) { nodes { id } } }`
    const { data, errors } = await api.as<{ sessions: { nodes: unknown[] } }>('ann', query, { filter })
    expect(errors).toBeUndefined()
    expect(data.sessions.nodes).toHaveLength(count)
  })

  it('a time that is none is refused with an example of one', async () => {
    const query = `query ($filter: SessionFilter) { sessions(filter: $filter) { nodes { id } } }`
    const { errors, status } = await api.as('ann', query, { filter: { createdAfter: 'yesterday' } })
    expect(status).toBe(400)
    expect(errors?.[0]?.message).toContain('DateTime wants an RFC 3339 string such as "2026-11-29T17:20:00Z", not "yesterday"')
    expect(errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT')
  })
})
