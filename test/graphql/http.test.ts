import { PrismaPg } from '@prisma/adapter-pg'
import { GraphQLError } from 'graphql'
import { serverAudits } from 'graphql-http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OutcomeUnknown } from '../../server/errors.js'
import { PrismaClient } from '../../server/generated/prisma/client.js'
import { ERROR_CODES, toGraphqlError } from '../../server/graphql/errors.js'
import { createIdSource } from '../../server/ids.js'
import { converse, startApi, type Api } from './api.js'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

describe('GraphQL over HTTP', () => {
  const audits = serverAudits({
    url: () => api.url,
    fetchFn: (url: string, init?: RequestInit) => fetch(url, { ...init, headers: { ...init?.headers, 'x-caller': 'auditor' } }),
  })

  it.each(audits.map((audit) => [audit.id, audit.name, audit] as const))('%s %s', async (_, __, audit) => {
    const result = await audit.fn()
    expect(result.status === 'ok' ? 'ok' : result.reason).toBe('ok')
  })

  it('all audits ran', () => {
    expect(audits.length).toBeGreaterThanOrEqual(60)
  })

  const post = (body: BodyInit, contentType: string) =>
    fetch(api.url, { method: 'POST', body, headers: { 'content-type': contentType, 'x-caller': 'ann' } })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/graphql'])(
    'takes no %s, which a form of another site could send',
    async (contentType) => {
      const response = await post('query={__typename}', contentType)
      expect(response.status).toBe(415)
      expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] })
    },
  )

  it('takes no mutation by GET', async () => {
    const query = encodeURIComponent('mutation { end(input: { session: { address: "a:b" } }) { __typename } }')
    expect((await fetch(`${api.url}?query=${query}`, { headers: { 'x-caller': 'ann' } })).status).toBe(405)
  })

  it('takes no body over 2 MiB', async () => {
    expect(
      (await post(JSON.stringify({ query: '{ __typename }', variables: { x: 'x'.repeat(3_000_000) } }), 'application/json')).status,
    ).toBe(413)
  })

  it('allows no other origin, and other paths are not there', async () => {
    const headers = { origin: 'http://localhost:5173', 'x-caller': 'ann' }
    const response = await fetch(`${api.url}?query={__typename}`, { headers })
    expect([response.status, response.headers.get('access-control-allow-origin')]).toEqual([200, null])
    expect((await fetch(new URL('/other', api.url), { headers })).status).toBe(404)
  })

  it('shows no GraphiQL outside of development', async () => {
    const response = await fetch(api.url, { headers: { accept: 'text/html' } })
    expect(response.headers.get('content-type') ?? '').not.toContain('text/html; charset')
  })
})

describe('limits', () => {
  const code = async (query: string, variables: object = {}) => (await api.as('ann', query, variables)).errors?.[0]?.extensions['code']

  it('of depth', async () => {
    const deep = (levels: number) =>
      `{ sessions(first: 1) { nodes { ${'turns(first: 1) { nodes { session { '.repeat(levels)} id ${'} } }'.repeat(levels)} } } }`
    expect(await code(deep(4))).toBeUndefined()
    expect(await code(deep(5))).toBe('COMPLEXITY_LIMIT')
  })

  it('of complexity, with variables counted, before anything is read', async () => {
    const query = `query ($n: Int) { sessions(first: $n) { nodes { turns(first: $n) { nodes { steps(first: $n) { nodes { id } } } } } } }`
    expect(await code(query, { n: 10 })).toBeUndefined()
    api.takeStatements()
    const refused = await api.as('ann', query, { n: 100 })
    expect(refused.errors).toMatchObject([{ extensions: { code: 'COMPLEXITY_LIMIT' } }])
    expect(refused.errors?.[0]?.message).toMatch(/may ask for \d+ fields; at most 200000/)
    expect(api.takeStatements()).toEqual([])
    expect(await code(query, { n: 10 })).toBeUndefined()
  })

  it('of the length of a document', async () => {
    expect(await code(`{ ${'__typename '.repeat(500)} }`)).toBeUndefined()
    expect(await code(`{ ${'__typename '.repeat(6_000)} }`)).toBe('GRAPHQL_PARSE_FAILED')
  })

  it('leave room for introspection', async () => {
    const { getIntrospectionQuery } = await import('graphql')
    expect((await api.as('ann', getIntrospectionQuery())).errors).toBeUndefined()
  })
})

describe('top-level errors', () => {
  const told = (thrown: unknown) =>
    toGraphqlError(thrown, { log: { error: () => undefined }, ids: createIdSource(), development: false }).extensions

  it.each([
    ['{', 'GRAPHQL_PARSE_FAILED', 400],
    ['{ nothing }', 'GRAPHQL_VALIDATION_FAILED', 400],
    ['query ($first: Int!) { sessions(first: $first) { nodes { id } } }', 'BAD_USER_INPUT', 400],
    ['{ sessions(first: -1) { nodes { id } } }', 'BAD_USER_INPUT', 200],
    ['query A { __typename } query B { __typename }', 'BAD_USER_INPUT', 400],
  ])('%s is %s', async (query, code, status) => {
    const answer = await api.as('ann', query)
    expect(answer.errors?.[0]?.extensions['code']).toBe(code)
    expect(answer.status).toBe(status)
  })

  it('a fault is masked, and its cause is in the log under the errorId that the client was told', async () => {
    await converse(api, 'ann', ['hi'])
    await api.prisma.$executeRaw`ALTER TABLE turn RENAME TO gone`
    try {
      const { data, errors } = await api.as<{ viewer: object }>('ann', '{ viewer { id } sessions { nodes { turns { nodes { id } } } } }')
      expect(data).toBeNull()
      const { code, errorId } = errors?.[0]?.extensions ?? {}
      expect(code).toBe('INTERNAL_SERVER_ERROR')
      expect(errorId).toMatch(/^err_/)
      expect(JSON.stringify(errors)).not.toMatch(/relation|prisma|SELECT/i)
      expect(api.errors.map(({ fields }) => fields)).toContainEqual(expect.objectContaining({ errorId, err: expect.any(Error) as Error }))
    } finally {
      await api.prisma.$executeRaw`ALTER TABLE gone RENAME TO turn`
    }
  })

  it('a database that does not answer is UNAVAILABLE, 503, so that a client repeats the request', () => {
    const lost = new GraphQLError('lost', { originalError: new OutcomeUnknown('the connection broke') })
    expect(told(lost)).toMatchObject({ code: 'UNAVAILABLE', http: { status: 503 } })
  })

  it('so is one that a read cannot reach, or that goes away in the middle of it', async () => {
    const nowhere = new PrismaClient({ adapter: new PrismaPg({ connectionString: 'postgresql://postgres@127.0.0.1:1/none' }) })
    const unreachable: unknown = await nowhere.session.findFirst().catch((thrown: unknown) => thrown)
    expect(told(unreachable)).toMatchObject({ code: 'UNAVAILABLE', http: { status: 503 } })
    const killed: unknown = await api.prisma.$queryRaw`SELECT pg_terminate_backend(pg_backend_pid())::text`.catch(
      (thrown: unknown) => thrown,
    )
    expect(told(killed)).toMatchObject({ code: 'UNAVAILABLE' })
  })

  it.each([
    ...['P1001', 'P1002', 'P1008', 'P1017', 'P2024', '08006', '57P01', '57P03', 'ECONNREFUSED', 'ECONNRESET'].map((code) => ({ code })),
    ...['Connection terminated unexpectedly', 'timeout exceeded when trying to connect'].map((message) => ({ message })),
    { meta: { driverAdapterError: { cause: { kind: 'ConnectionClosed' } } } },
    { cause: { originalCode: '57P01', kind: 'postgres' } },
  ])('so is a fault of the connection: %j', (fault) => {
    const originalError = Object.assign(new Error('a query failed'), fault)
    expect(told(new GraphQLError('x', { originalError }))).toMatchObject({ code: 'UNAVAILABLE' })
  })

  it.each([{ code: 'P2025' }, { code: '23505' }, { code: '57014' }, { message: 'the tool has a timeout' }, {}])(
    'another fault is none: %j',
    (fault) => {
      const originalError = Object.assign(new Error('a query failed'), fault)
      expect(told(new GraphQLError('x', { originalError }))).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' })
    },
  )

  it('have one of the documented codes', () => {
    expect(ERROR_CODES).toEqual([
      'UNAUTHENTICATED',
      'FORBIDDEN',
      'RATE_LIMITED',
      'COMPLEXITY_LIMIT',
      'BAD_USER_INPUT',
      'GRAPHQL_PARSE_FAILED',
      'GRAPHQL_VALIDATION_FAILED',
      'UNAVAILABLE',
      'INTERNAL_SERVER_ERROR',
    ])
  })
})
