import { gunzipSync } from 'node:zlib'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defaultTabs } from '../../server/graphql/graphiql.js'
import { startApi, type Api } from './api.js'

let api: Api
beforeAll(async () => {
  api = await startApi({ development: true, authenticate: null })
})
afterAll(() => api.close())

interface Page {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: Buffer
}

function open(headers: Readonly<Record<string, string>>, query = ''): Promise<Page> {
  return new Promise((resolve, reject) => {
    const sent = request(`${api.url}${query}`, { headers: { accept: 'text/html,*/*', ...headers } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }))
    })
    sent.on('error', reject)
    sent.end()
  })
}

describe('GraphiQL', () => {
  it('comes as one page, packed, that loads nothing from elsewhere', async () => {
    const { status, headers, body } = await open({ 'accept-encoding': 'gzip, br' })
    expect([status, headers['content-encoding'], headers['content-type']]).toEqual([200, 'gzip', 'text/html; charset=utf-8'])
    const html = gunzipSync(body).toString()
    expect(body.length).toBeLessThan(html.length / 3)
    expect(html).toContain('<title>Perdure</title>')
    expect(html).not.toMatch(/<(script|link|img|iframe)[^>]+(src|href)="https?:/)
    expect(html).not.toMatch(/@import\s+url\(["']?https?:/)
  })

  it('is not sent again while the browser has it', async () => {
    const { headers } = await open({ 'accept-encoding': 'gzip' })
    const again = await open({ 'accept-encoding': 'gzip', 'if-none-match': String(headers['etag']) })
    expect([again.status, again.body.length]).toEqual([304, 0])
  })

  it('comes unpacked to those who cannot unpack', async () => {
    const { headers, body } = await open({})
    expect([headers['content-encoding'], body.subarray(0, 40).toString()]).toEqual([undefined, expect.stringContaining('<!doctype html>')])
  })

  it('leaves a question to GraphQL, also of a browser', async () => {
    const { headers, body } = await open({ accept: 'text/html,application/json' }, '?query={__typename}')
    expect(headers['content-type']).toContain('json')
    expect(JSON.parse(body.toString())).toEqual({ data: { __typename: 'Query' } })
  })

  it('has tabs that run as they stand, from the first to the last', async () => {
    const tabs = defaultTabs('hello')
    expect(tabs).toHaveLength(6)
    for (const tab of tabs) {
      expect(tab.trimEnd().split('\n').length).toBeLessThanOrEqual(15)
      expect(tab).toMatch(/^# /)
    }
    const [hello = '', , happened = '', waits = '', list = '', agents = ''] = tabs
    const sent = await api.as<{ send: { session: { id: never } } }>(null, hello)
    expect(sent.data).toMatchObject({ send: { created: true } })
    await api.world.untilRest(sent.data.send.session.id)
    expect((await api.as(null, happened)).data).toMatchObject({
      sessionByAddress: {
        status: 'IDLE',
        turns: { nodes: [{ userInput: 'What can you do?', assistantOutput: 'Hello, What can you do?!' }] },
      },
    })
    expect((await api.as(null, waits.slice(0, waits.indexOf('mutation')))).data).toEqual({ inputRequests: { nodes: [] } })
    expect((await api.as(null, list)).data).toMatchObject({ sessions: { nodes: [{ addresses: ['graphiql:demo'] }] } })
    expect((await api.as(null, agents)).data).toMatchObject({ agents: [{ name: 'hello' }, { name: 'support' }] })
  })
})
