/** Whatever happens to Redis: work goes on without it, people are told why, and once it works it is used again. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { SessionId } from '../../server/ids.js'
import { sessionNamed } from '../support/log-store.js'
import { startLossyProxy, type LossyProxy } from '../support/lossy-proxy.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import { turnResumed } from '../support/sample-events.js'
import { eventually, openRedisProcess, type RedisProcess } from './redis-process.js'

const [A, B, C, D] = ['a', 'b', 'c', 'd'].map(sessionNamed) as [SessionId, SessionId, SessionId, SessionId]
const PREFIX = 'outage'

interface World {
  readonly server: RedisServer
  /** Between the worker and Redis. */
  readonly proxy: LossyProxy
}
interface Fault {
  readonly name: string
  begin(world: World): unknown
  end(world: World): unknown
  /** What health() says of it. */
  readonly told: RegExp
}

const FAULTS: readonly Fault[] = [
  {
    name: 'Redis is killed',
    begin: ({ server }) => server.kill(),
    end: ({ server }) => server.start(),
    told: /ECONNRESET|EPIPE|closed/,
  },
  {
    name: 'nothing gets through',
    begin: ({ proxy }) => proxy.shut(),
    end: ({ proxy }) => proxy.open(),
    told: /ECONNRESET|EPIPE|closed/,
  },
  {
    name: 'the connections are forgotten on the way',
    begin: ({ proxy }) => proxy.silence(),
    end: () => null,
    told: /did not answer/,
  },
  {
    name: 'it closes its half of the connections',
    begin: ({ proxy }) => proxy.halfClose(),
    end: () => null,
    told: /closed/,
  },
  {
    name: 'every answer is two seconds late',
    begin: ({ proxy }) => proxy.delay(1000),
    end: ({ proxy }) => proxy.delay(0),
    told: /did not answer/,
  },
  {
    name: 'a script of somebody else keeps it busy',
    async begin({ server }) {
      await server.command('CONFIG', 'SET', 'busy-reply-threshold', '50')
      server.command('EVAL', 'while true do end', 0).catch(() => undefined)
    },
    end: ({ server }) => promisify(execFile)('redis-cli', ['-u', server.url, 'SCRIPT', 'KILL']),
    told: /^BUSY|did not answer/,
  },
  {
    name: 'its memory is full',
    begin: ({ server }) => server.command('CONFIG', 'SET', 'maxmemory', '1'),
    end: ({ server }) => server.command('CONFIG', 'SET', 'maxmemory', '0'),
    told: /^OOM command not allowed when used memory > 'maxmemory'\.$/,
  },
  {
    name: 'it became a replica',
    begin: ({ server }) => server.command('REPLICAOF', '127.0.0.1', '1'),
    end: ({ server }) => server.command('REPLICAOF', 'NO', 'ONE'),
    told: /^READONLY You can't write against a read only replica\.$/,
  },
  {
    name: 'it does not let us run scripts any more',
    begin: ({ server }) => server.command('ACL', 'SETUSER', 'default', '-evalsha'),
    end: ({ server }) => server.command('ACL', 'SETUSER', 'default', '+evalsha'),
    told: /^NOPERM/,
  },
  {
    name: 'it does not let us listen any more',
    async begin({ server }) {
      await server.command('ACL', 'SETUSER', 'default', '-subscribe')
      await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
    },
    end: ({ server }) => server.command('ACL', 'SETUSER', 'default', '+subscribe'),
    told: /^NOPERM/,
  },
]

/** A worker that reaches Redis through the proxy, and a process of another role that reaches it without. */
async function withProcesses(test: (worker: RedisProcess, other: RedisProcess, world: World) => Promise<void>): Promise<void> {
  const server = await startRedisServer()
  const proxy = await startLossyProxy(server.url)
  const worker = await openRedisProcess({ url: proxy.url, prefix: PREFIX })
  const other = await openRedisProcess({ url: server.url, prefix: PREFIX, slots: 0 })
  try {
    await test(worker, other, { server, proxy })
  } finally {
    await Promise.all([worker.close(), other.close()])
    await proxy.close()
    await server.close()
  }
}

describe.concurrent('work goes on at once, and is shared again afterwards, when', () => {
  beforeEach(() => {
    vi.spyOn(console, 'error')
    vi.spyOn(console, 'warn')
  })
  afterEach(() => {
    expect(console.error).not.toHaveBeenCalled()
    expect(console.warn).not.toHaveBeenCalled()
  })

  test.each(FAULTS)('$name', async ({ begin, end, told }) => {
    await withProcesses(async (worker, other, world) => {
      const heard: number[] = []
      await worker.coordinator.subscribe(A, (events) => heard.push(...events.map(({ position }) => position)))
      expect(worker.lines).toEqual([])

      await begin(world)
      const beforeItIsKnown = worker.take()
      worker.coordinator.wake(B)
      expect((await beforeItIsKnown)?.sessionId).toBe(B)
      await worker.untilHealth(told)
      worker.coordinator.wake(C)
      expect((await worker.take())?.sessionId).toBe(C)
      expect(worker.gaps).toBeGreaterThan(0)
      expect(worker.lines).toEqual([
        expect.stringMatching(/^warn Redis is not of use: .+; sessions are found in the database until it is$/),
      ])

      const { gaps } = worker
      await end(world)
      await Promise.all([worker.untilHealth(null), other.untilHealth(null)])
      expect(worker.gaps).toBeGreaterThan(gaps)
      const waiting = worker.take()
      other.coordinator.wake(D)
      expect((await waiting)?.sessionId).toBe(D)
      other.coordinator.publish(A, [{ ...turnResumed('again'), sessionId: A, position: 7, endsWrite: true }])
      await eventually(() => expect(heard).toEqual([7]))
      await eventually(async () => expect(await worker.coordinator.processes()).toHaveLength(2))
      await eventually(() => expect(worker.lines.slice(1)).toEqual(['info Redis is of use again']))
    })
  })
})
