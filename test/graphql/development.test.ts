import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { developmentPrincipal } from '../../server/graphql/access.js'
import { SCOPES } from '../../server/graphql/caller.js'
import { startApi, type Api } from './api.js'

let api: Api
beforeAll(async () => {
  api = await startApi({ development: true, authenticate: null })
})
afterAll(() => api.close())

function ask(headers: Readonly<Record<string, string>>) {
  const body = JSON.stringify({ query: '{ viewer { id } }' })
  return fetch(api.url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })
}

describe('in development on this machine', () => {
  it('everybody is the developer, who may do everything', async () => {
    expect(await (await ask({})).json()).toEqual({ data: { viewer: { id: 'developer' } } })
    const developer = { tenant: 'default', id: 'developer', kind: 'USER', scopes: SCOPES }
    expect(developmentPrincipal(new Request('http://localhost:4000/graphql'))).toEqual(developer)
  })

  it('a header makes the caller somebody else, who may do less', async () => {
    expect(await (await ask({ 'x-perdure-principal': 'ann' })).json()).toEqual({ data: { viewer: { id: 'ann' } } })
    const headers = { 'x-perdure-principal': 'ann; role=sessions:read; role=requests:answer' }
    const restricted = developmentPrincipal(new Request('http://[::1]:4000/graphql', { headers }))
    expect(restricted).toEqual({ tenant: 'default', id: 'ann', kind: 'USER', scopes: ['sessions:read', 'requests:answer'] })
  })

  it('what is no scope is a role of the caller, several if there are', () => {
    const of = (principal: string) =>
      developmentPrincipal(new Request('http://localhost/graphql', { headers: { 'x-perdure-principal': principal } }))
    expect(of('max;role=manager')).toEqual({ tenant: 'default', id: 'max', kind: 'USER', scopes: SCOPES, roles: ['manager'] })
    expect(of('max; role=manager; role=requests:answer; role=on call; role=; other=x')).toMatchObject({
      scopes: ['requests:answer'],
      roles: ['manager', 'on call'],
    })
  })

  it('a name that only points here is nobody: a page elsewhere cannot make a browser ask', async () => {
    const { port } = new URL(api.url)
    const status = await new Promise((resolve, reject) => {
      const headers = { host: `evil.example:${port}`, 'content-type': 'application/json', accept: 'application/graphql-response+json' }
      const sent = request({ port, host: '127.0.0.1', path: '/graphql', method: 'POST', headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      sent.on('error', reject)
      sent.end(JSON.stringify({ query: '{ viewer { id } }' }))
    })
    expect(status).toBe(401)
  })

  it('pages of this machine may ask from their own port, others not', async () => {
    const allowed = async (origin: string) => (await ask({ origin })).headers.get('access-control-allow-origin')
    expect(await allowed('http://localhost:5173')).toBe('http://localhost:5173')
    expect(await allowed('http://127.0.0.1:3000')).toBe('http://127.0.0.1:3000')
    for (const origin of ['https://evil.example', 'http://localhost.evil.example', 'null']) expect(await allowed(origin)).toBeNull()
  })

  it('a fault is told frankly', async () => {
    await api.prisma.$executeRaw`ALTER TABLE session_head RENAME TO gone`
    try {
      const answer = await ask({}).then(() => api.as(null, '{ sessions { nodes { id } } }'))
      expect(answer.errors?.[0]?.extensions['cause']).toContain('session_head')
    } finally {
      await api.prisma.$executeRaw`ALTER TABLE gone RENAME TO session_head`
    }
  })
})
