/** A process that cannot use Redis starts all the same, and says why. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startChildService } from '../support/child-service.js'
import { sessionNamed } from '../support/log-store.js'
import { withRedis } from '../support/redis.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import { findFreePort } from '../support/server-process.js'
import { eventually, openRedisProcess, type RedisProcess } from './redis-process.js'

const A = sessionNamed('a')
const PREFIX = 'start'

async function withProcess(url: string, test: (process: RedisProcess) => Promise<void>): Promise<void> {
  const process = await openRedisProcess({ url, prefix: PREFIX })
  try {
    await test(process)
  } finally {
    await process.close()
  }
}

function withPassword(server: RedisServer, password: string): string {
  const url = new URL(server.url)
  url.password = password
  return url.href
}

describe('without Redis', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedisServer()
    await server.command('CONFIG', 'SET', 'requirepass', 'right')
  })
  afterAll(() => server.close())

  const CASES = [
    {
      name: 'nobody listens',
      url: async () => `redis://127.0.0.1:${await findFreePort()}`,
      told: /^connect ECONNREFUSED 127\.0\.0\.1:\d+$/,
    },
    { name: 'nobody has that name', url: async () => 'redis://redis.invalid', told: /redis\.invalid/ },
    { name: 'the password is wrong', url: async () => withPassword(server, 'wrong'), told: /^WRONGPASS / },
    { name: 'there is no password', url: async () => server.url, told: /^it wants a password, and REDIS_URL has none$/ },
    { name: 'Redis does not speak TLS', url: async () => server.url.replace('redis:', 'rediss:'), told: /TLS|SSL|ETIMEDOUT|disconnected/i },
  ]
  test.concurrent.each(CASES)('work is done, and one line says that $name', async ({ url, told }) => {
    await withProcess(await url(), async (process) => {
      await process.untilHealth(told)
      process.coordinator.wake(A)
      expect((await process.take())?.sessionId).toBe(A)
      await process.coordinator.subscribe(A, () => undefined)
      process.coordinator.announce(A)
      expect(await process.coordinator.processes()).toEqual([])
      expect(process.lines).toEqual([expect.stringMatching(/^warn Redis is not of use: /)])
      expect(process.lines[0]).toMatch(new RegExp(told.source.replace(/[$^]/g, ''), told.flags))
      expect(process.failures).toBeGreaterThan(0)
    })
  })

  test('it goes on trying, and there is no need to start again', async () => {
    await withProcess(withPassword(server, 'changed'), async (process) => {
      await process.untilHealth(/^WRONGPASS/)
      await withRedis((redis) => redis.config('SET', 'requirepass', 'changed'), withPassword(server, 'right'))
      await process.untilHealth(null)
      expect(process.gaps).toBeGreaterThan(0)
      expect(await process.coordinator.processes()).toMatchObject([{ id: process.id }])
      await eventually(() => expect(process.lines.slice(1)).toEqual(['info Redis is of use again']))
    })
  })

  test('it waits for one that is still reading its data', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'perdure-loading-'))
    const port = await findFreePort()
    const url = `redis://127.0.0.1:${port}`
    const start = (readyWhen: RegExp, ...settings: readonly string[]) =>
      startChildService({ command: 'redis-server', args: ['--port', String(port), '--dir', dir, '--save', '', ...settings], readyWhen })
    const first = await start(/Ready to accept connections/, '--rdbcompression', 'no')
    await withRedis(async (redis) => {
      await redis.eval("for key = 1, 300 do redis.call('SET', 'key' .. key, string.rep('x', 1024)) end", 0)
      await redis.save()
    }, url)
    await first.kill('SIGKILL')
    // So many microseconds a key, and after each it looks who asks.
    const second = await start(/Server initialized/, '--key-load-delay', '15000', '--loading-process-events-interval-bytes', '1024')
    try {
      await withProcess(url, async (process) => {
        await process.untilHealth(/^LOADING /)
        process.coordinator.wake(A)
        expect((await process.take())?.sessionId).toBe(A)
        await process.untilHealth(null)
        await eventually(() =>
          expect(process.lines).toEqual([expect.stringMatching(/^warn Redis is not of use: LOADING /), 'info Redis is of use again']),
        )
      })
    } finally {
      await second.kill('SIGKILL')
      await rm(dir, { recursive: true })
    }
  })
})
