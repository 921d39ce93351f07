/** What the doctor says of a Redis of the test's own, in the states that such servers get into. */
import { createServer } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTestPostgres } from '../support/databases.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import { visit, type Visit } from './doctor-visit.js'

let postgres: Awaited<ReturnType<typeof openTestPostgres>>
let redis: RedisServer
beforeAll(async () => {
  postgres = await openTestPostgres()
  redis = await startRedisServer()
})
afterAll(async () => {
  await redis.close()
  await postgres.close()
})
/** As new. */
beforeEach(async () => {
  await redis.kill()
  await redis.start()
})

function look(url = redis.url): Promise<Visit> {
  return visit({ DATABASE_URL: postgres.url, REDIS_URL: url, PERDURE_REDIS_PREFIX: 'doctor' })
}

describe('a Redis', () => {
  test('that works is left as it was found', async () => {
    const { find } = await look()
    expect(find('Redis')?.status).toBe('ok')
    expect(await redis.command('KEYS', '*')).toEqual([])
  })

  test('that does not run is broken: 1, and its processes are not known', async () => {
    await redis.kill()
    const { code, find } = await look()
    expect(code).toBe(1)
    expect(find('Redis')).toMatchObject({
      status: 'broken',
      detail: `Can't reach Redis at ${redis.url} (ECONNREFUSED).`,
      mend: expect.stringContaining('start it, or correct REDIS_URL'),
    })
    expect(find('Processes')).toMatchObject({ status: 'skipped' })
  })

  test('that refuses the password is broken, and the password is not shown', async () => {
    await redis.command('CONFIG', 'SET', 'requirepass', 'sesame')
    const wrong = redis.url.replace('//', '//:abracadabra@')
    const { find, checks } = await look(wrong)
    expect(find('Redis')).toMatchObject({
      status: 'broken',
      detail: expect.stringContaining('(WRONGPASS)'),
      mend: 'correct them in REDIS_URL',
    })
    expect(JSON.stringify(checks)).not.toMatch(/sesame|abracadabra/)
    expect((await look()).find('Redis')).toMatchObject({ status: 'broken', detail: expect.stringContaining('(NOAUTH)') })
    expect((await look(redis.url.replace('//', '//:sesame@'))).find('Redis')).toMatchObject({ status: 'ok' })
  })

  test('that is full is broken, with its own words and the mend', async () => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '1')
    expect((await look()).find('Redis')).toMatchObject({
      status: 'broken',
      detail: expect.stringContaining('it takes no writes: OOM'),
      mend: expect.stringContaining('raise maxmemory'),
    })
  })

  test('that forgets keys when it is full is a warning: 0', async () => {
    await redis.command('CONFIG', 'SET', 'maxmemory', '100mb')
    expect((await look()).find('Redis')?.status).toBe('ok')
    await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    const { code, find } = await look()
    expect(code).toBe(0)
    expect(find('Redis')).toMatchObject({ status: 'warning', detail: expect.stringContaining('maxmemory-policy allkeys-lru') })
  })

  test('that is a replica is broken', async () => {
    await redis.command('REPLICAOF', '127.0.0.1', '1')
    expect((await look()).find('Redis')).toMatchObject({
      status: 'broken',
      detail: 'it is a replica, which only reads',
      mend: 'let REDIS_URL lead to the primary',
    })
  })

  test('that keeps scripts or messages from the user is broken', async () => {
    await redis.command('ACL', 'SETUSER', 'app', 'on', '>pw', '~*', '&*', '+@all', '-eval')
    const url = redis.url.replace('//', '//app:pw@')
    expect((await look(url)).find('Redis')).toMatchObject({
      status: 'broken',
      detail: expect.stringContaining('it runs no scripts: NOPERM'),
    })
    await redis.command('ACL', 'SETUSER', 'app', '+eval', 'resetchannels')
    expect((await look(url)).find('Redis')).toMatchObject({
      status: 'broken',
      detail: expect.stringContaining('it carries no messages: NOPERM'),
    })
  })

  test('that is no cluster, though the address says so, is broken', async () => {
    expect((await look(`${redis.url}?cluster=true`)).find('Redis')).toMatchObject({
      status: 'broken',
      mend: 'leave ?cluster=true out of REDIS_URL',
    })
  })

  test('that is something else is broken, with the guess that it may be', async () => {
    const other = createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { find } = await look(`redis://127.0.0.1:${(other.address() as AddressInfo).port}`)
    other.close()
    expect(find('Redis')).toMatchObject({ status: 'broken', mend: expect.stringContaining('something else than Redis may listen there') })
  })
})
