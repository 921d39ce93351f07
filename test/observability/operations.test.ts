import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../server/clock.js'
import type { OperationsOptions } from '../../server/observability/operations.js'
import type { CoordinatorHealth } from '../../server/session/ports.js'
import { openPostgres } from '../../server/store/postgres.js'
import { ping } from '../../server/store/statements/ping.js'
import { createTestDatabase } from '../support/databases.js'
import { createFakeClock } from '../support/fake-clock.js'
import { startLossyProxy } from '../support/lossy-proxy.js'
import { silentLog } from '../support/silent-log.js'
import { serveOperations, type OperationsServer } from './operations-server.js'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})
async function serve(more: Partial<OperationsOptions> = {}): Promise<OperationsServer> {
  const server = await serveOperations(more)
  closers.push(() => server.close())
  return server
}

describe('GET /livez', () => {
  test('is answered by a process that answers at all', async () => {
    const server = await serve({ pingDatabase: () => new Promise(() => undefined), isStopping: () => true })
    const { status, text, headers } = await server.request('/livez')
    expect({ status, body: JSON.parse(text) }).toEqual({ status: 200, body: { status: 'alive' } })
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-store')
  })
})

describe('GET /readyz', () => {
  const fine = { status: 'ok', mend: null }

  test('is 200 while everything is fine, with each check', async () => {
    const server = await serve({
      coordination: () => ({ kind: 'redis', fault: null }),
      polls: { intervalMs: 500, ageMs: () => 400 },
    })
    expect(await server.ready()).toEqual({
      status: 200,
      body: {
        status: 'ready',
        checks: {
          process: { ...fine, detail: 'it runs' },
          database: { ...fine, detail: 'answers in 0.0 ms' },
          redis: { ...fine, detail: 'answers' },
          polling: { ...fine, detail: 'looked for due sessions 0.4 s ago' },
        },
      },
    })
  })

  test('says nothing of Redis and of polling where there is none', async () => {
    const { body } = await (await serve()).ready()
    expect(Object.keys((body as { checks: object }).checks)).toEqual(['process', 'database'])
  })

  test('is 503 as soon as the process was told to stop, and asks nobody', async () => {
    let asked = 0
    const pingDatabase = () => {
      asked += 1
      return Promise.resolve({ standby: false })
    }
    const server = await serve({ isStopping: () => true, pingDatabase })
    expect(await server.ready()).toMatchObject({ status: 503, body: { status: 'unready', checks: { process: { status: 'failed' } } } })
    expect(asked).toBe(0)
  })

  test('is 503 when the last look for due sessions is too old: three intervals and ten seconds', async () => {
    let ageMs = 11_500
    const server = await serve({ polls: { intervalMs: 500, ageMs: () => ageMs } })
    expect(await server.ready()).toMatchObject({ status: 200 })
    ageMs = 11_501
    expect(await server.ready()).toMatchObject({
      status: 503,
      body: { checks: { polling: { status: 'failed', detail: 'looked for due sessions 11.5 s ago', mend: expect.any(String) } } },
    })
  })

  test('without Redis it is ready, since sessions are found by polling, and says so', async () => {
    let health: CoordinatorHealth = { kind: 'redis', fault: 'connect ECONNREFUSED redis.internal:6379' }
    const server = await serve({ coordination: () => health })
    const degraded = await server.ready()
    expect(degraded).toMatchObject({
      status: 200,
      body: { status: 'ready', checks: { redis: { status: 'degraded', mend: expect.any(String) } } },
    })
    health = { kind: 'redis', fault: null }
    expect(await server.ready()).toMatchObject({ body: { checks: { redis: { status: 'ok' } } } })
  })

  test('is 503 on a standby, which takes no writes', async () => {
    const server = await serve({ pingDatabase: () => Promise.resolve({ standby: true }) })
    expect(await server.ready()).toMatchObject({
      status: 503,
      body: { checks: { database: { status: 'failed', mend: 'let DATABASE_URL lead to the primary' } } },
    })
  })

  test('tells no address and no name, whatever the errors say', async () => {
    const cause = Object.assign(new Error('password authentication failed for user "root" at db.internal'), { code: '28P01' })
    const thrown = Object.assign(new Error('no connection to db.internal', { cause }), { code: 'STORE_UNAVAILABLE' })
    const server = await serve({
      pingDatabase: () => Promise.reject(thrown),
      coordination: () => ({ kind: 'redis', fault: 'redis.internal is gone' }),
    })
    const { text } = await server.request('/readyz')
    expect(text).toContain('no answer (28P01)')
    expect(text).not.toMatch(/internal|root/)
  })
})

describe('the database behind /readyz', () => {
  test('is asked once by probes that come together, and again a second later', async () => {
    const clock = createFakeClock()
    let asked = 0
    const pingDatabase = async () => {
      asked += 1
      return { standby: false }
    }
    const server = await serve({ clock, pingDatabase })
    await Promise.all(Array.from({ length: 20 }, () => server.ready()))
    expect(asked).toBe(1)
    await clock.advance(999)
    await server.ready()
    expect(asked).toBe(1)
    await clock.advance(1)
    await server.ready()
    expect(asked).toBe(2)
  })

  test('that hangs is not asked again, and is unready after two seconds and at once from then on', async () => {
    const clock = createFakeClock()
    let asked = 0
    let answer = (_: { standby: boolean }): void => undefined
    const pingDatabase = () => {
      asked += 1
      return new Promise<{ standby: boolean }>((resolve) => (answer = resolve))
    }
    const server = await serve({ clock, pingDatabase })
    const first = server.ready()
    while (clock.pending === 0) await clock.advance(0)
    await clock.advance(2000)
    expect(await first).toMatchObject({ status: 503, body: { checks: { database: { detail: 'no answer within 2 s' } } } })
    expect(await server.ready()).toMatchObject({ status: 503 })
    expect(asked).toBe(1)
    answer({ standby: false })
    await clock.advance(1000)
    const second = server.ready()
    while (asked === 1) await clock.advance(0)
    answer({ standby: false })
    expect(await second).toMatchObject({ status: 200 })
  })

  test('a real one: ready, unready while it cannot be reached, ready again', async () => {
    const { url, drop } = await createTestDatabase()
    closers.push(drop)
    const proxy = await startLossyProxy(url)
    closers.push(() => proxy.close())
    const database = await openPostgres({ url: new URL(proxy.url), poolSize: 2, replyTimeoutMs: 2500, onLost: () => undefined })
    closers.push(() => database.close())
    // Each probe asks anew.
    const clock = createFakeClock()
    const server = await serve({ clock, pingDatabase: () => ping(database) })
    expect(await server.ready()).toMatchObject({ status: 200 })
    proxy.shut()
    await clock.advance(1000)
    expect(await server.ready()).toMatchObject({
      status: 503,
      body: { checks: { database: { detail: expect.stringMatching(/^no answer/) } } },
    })
    proxy.open()
    await clock.advance(1000)
    expect(await server.ready()).toMatchObject({ status: 200 })
  })

  test('that fell silent is told before its own timeout', async () => {
    const { url, drop } = await createTestDatabase()
    closers.push(drop)
    const proxy = await startLossyProxy(url)
    closers.push(() => proxy.close())
    const database = await openPostgres({ url: new URL(proxy.url), poolSize: 2, replyTimeoutMs: 2500, onLost: () => undefined })
    closers.push(() => database.close())
    const server = await serve({ clock: systemClock, pingDatabase: () => ping(database) })
    proxy.silence()
    expect(await server.ready()).toMatchObject({ status: 503, body: { checks: { database: { detail: 'no answer within 2 s' } } } })
  })
})

describe('GET /metrics', () => {
  test('answers the figures as Prometheus reads them', async () => {
    const { status, headers, text } = await (await serve()).request('/metrics')
    expect({ status, text, type: headers.get('content-type') }).toEqual({ status: 200, text: 'up 1\n', type: 'text/plain; version=0.0.4' })
  })

  test('a fault is 500 without its words, which are in the log', async () => {
    const logged: unknown[] = []
    const log = silentLog({ error: (...line) => void logged.push(line) })
    const err = new Error('secret')
    const server = await serve({ log, metrics: { contentType: 'text/plain', render: () => Promise.reject(err) } })
    const { status, text } = await server.request('/metrics')
    expect(status).toBe(500)
    expect(text).not.toContain('secret')
    expect(logged).toEqual([['a probe could not be answered', { err, path: '/metrics' }]])
  })
})

describe('requests', () => {
  test.each(['/livez', '/readyz', '/metrics'])('HEAD %s has the head of GET and no body', async (path) => {
    const server = await serve()
    const [get, head] = [await server.request(path), await server.request(path, { method: 'HEAD' })]
    expect(head.text).toBe('')
    expect(head.status).toBe(get.status)
    expect(head.headers.get('content-length')).toBe(String(get.text.length))
  })

  test('a query behind the path does not matter', async () => {
    expect((await (await serve()).request('/livez?from=balancer')).status).toBe(200)
  })

  test('other methods are not allowed', async () => {
    const { status, headers } = await (await serve()).request('/readyz', { method: 'POST', body: '{}' })
    expect({ status, allow: headers.get('allow') }).toEqual({ status: 405, allow: 'GET, HEAD' })
  })

  test.each(['all', 'api'] as const)('a process of role %s leaves every other path to GraphQL', async (role) => {
    const server = await serve({ role })
    expect((await server.request('/graphql')).status).toBe(418)
    expect((await server.request('/livez/')).status).toBe(418)
  })

  test.each(['GET', 'POST'])('a worker says to %s /graphql that it is one, and where to ask', async (method) => {
    const server = await serve({ role: 'worker' })
    const { status, text } = await server.request('/graphql', { method })
    expect(status).toBe(404)
    expect(JSON.parse(text)).toEqual({ error: expect.stringContaining('a worker'), mend: expect.stringContaining('PERDURE_ROLE=api') })
    expect((await server.request('/livez')).status).toBe(200)
  })
})
