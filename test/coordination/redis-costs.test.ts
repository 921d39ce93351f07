/** What is asked of Redis, as Redis counts it: for a turn, for a hand-off, and what a parked session leaves. Time stands still. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { SessionId } from '../../server/ids.js'
import { createFakeClock } from '../support/fake-clock.js'
import { sessionNamed } from '../support/log-store.js'
import { uniquePrefix, withRedis } from '../support/redis.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import { eventually, openRedisProcess, type RedisProcess } from './redis-process.js'

const [A, B, C] = [sessionNamed('a'), sessionNamed('b'), sessionNamed('c')]
const TURNS = 50

let server: RedisServer
let prefix: string
let processes: RedisProcess[]

beforeAll(async () => {
  server = await startRedisServer()
})
afterAll(() => server.close())
beforeEach(() => {
  prefix = uniquePrefix()
  processes = []
})
afterEach(() => Promise.all(processes.map((process) => process.close())))

async function open(slots: number): Promise<RedisProcess> {
  const process = await openRedisProcess({ url: server.url, prefix, slots, clock: createFakeClock() })
  processes.push(process)
  return process
}

/** Scripts that were run meanwhile. */
async function countScripts(work: () => Promise<void>): Promise<number> {
  const before = await readCalls()
  await work()
  return (await readCalls()) - before
}

async function readCalls(): Promise<number> {
  const stats = String(await server.command('INFO', 'commandstats'))
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

/** Names and sizes of everything that Redis keeps for this prefix. */
function measureKeys(): Promise<Readonly<Record<string, number>>> {
  return withRedis(async (redis) => {
    const sizes = await Promise.all(
      (await redis.keys(`{${prefix}}:*`)).map(async (key) => {
        const type = await redis.type(key)
        const size = type === 'zset' ? redis.zcard(key) : type === 'hash' ? redis.hlen(key) : redis.scard(key)
        return [key, await size] as const
      }),
    )
    return Object.fromEntries(sizes.sort())
  }, server.url)
}

/** Looks after each turn of the event loop: a thousand turns would wait for a timer for long. */
async function untilLength(list: readonly unknown[], length: number): Promise<void> {
  while (list.length < length) await new Promise(setImmediate)
}

/** So many turns one after the other: woken, handed out, given back. */
async function doTurns(count: number, by: RedisProcess, done: readonly SessionId[]): Promise<void> {
  const before = done.length
  for (let nth = 0; nth < count; nth += 1) {
    by.coordinator.wake(sessionNamed(`turn${before + nth}`))
    await untilLength(done, before + nth + 1)
  }
  // Whatever was asked before is answered when these are.
  await Promise.all(processes.map((process) => process.coordinator.processes()))
}

describe('a turn', () => {
  test('costs a process that both answers and drives two scripts: wake and give-back', async () => {
    const all = await open(4)
    const done = all.run('give back')
    await doTurns(1, all, done)
    expect(await countScripts(() => doTurns(TURNS, all, done))).toBe(2 * TURNS)
  })

  test('costs an api process one script, wake, and a worker two, take and give-back', async () => {
    const [api, worker] = [await open(0), await open(4)]
    const done = worker.run('give back')
    await doTurns(1, api, done)
    expect(await countScripts(() => doTurns(TURNS, api, done))).toBe(3 * TURNS)
  })

  test('leaves nothing behind: after 1,000 sessions there are as many keys, of the same size, as before', async () => {
    const [api, worker] = [await open(0), await open(4)]
    const done = worker.run('give back')
    await doTurns(1, api, done)
    const before = await measureKeys()
    for (const by of [api, worker]) await doTurns(500, by, done)
    expect(await measureKeys()).toEqual(before)
  })
})

describe('a hand-off', () => {
  test('with three idle processes one wake causes one take', async () => {
    const api = await open(0)
    const takes = [await open(4), await open(4), await open(4)].map((worker) => worker.take())
    await eventually(async () => expect(await measureKeys()).toMatchObject({ [`{${prefix}}:idle`]: 3 }))
    const count = await countScripts(async () => {
      api.coordinator.wake(A)
      expect((await Promise.race(takes))?.sessionId).toBe(A)
    })
    expect(count).toBe(2)
  })

  test('goes to whoever has been idle for longest, so that work is spread', async () => {
    const api = await open(0)
    const taken: (readonly SessionId[])[] = []
    for (let nth = 1; nth <= 3; nth += 1) {
      taken.push((await open(4)).run('hold'))
      await eventually(async () => expect(await measureKeys()).toMatchObject({ [`{${prefix}}:idle`]: nth }))
    }
    for (const [nth, session] of [A, B, C].entries()) {
      api.coordinator.wake(session)
      await eventually(() => expect(taken.flat()).toHaveLength(nth + 1))
    }
    expect(taken).toEqual([[A], [B], [C]])
  })

  test('is passed on by a process that has no free slot any more', async () => {
    const [api, leaving, worker] = [await open(0), await open(1), await open(1)]
    const stop = new AbortController()
    const left = leaving.coordinator.take(stop.signal)
    await eventually(async () => expect(await measureKeys()).toMatchObject({ [`{${prefix}}:idle`]: 1 }))
    const waiting = worker.take()
    await eventually(async () => expect(await measureKeys()).toMatchObject({ [`{${prefix}}:idle`]: 2 }))
    stop.abort()
    expect(await left).toBeNull()
    api.coordinator.wake(A)
    expect((await waiting)?.sessionId).toBe(A)
  })

  test('many wakes at once go out in one take, as far as there are slots', async () => {
    const [api, worker, other] = [await open(0), await open(4), await open(4)]
    const sessions = Array.from({ length: 8 }, (_, nth) => sessionNamed(`many${nth}`))
    for (const session of sessions) api.coordinator.wake(session)
    await eventually(async () => expect(await measureKeys()).toMatchObject({ [`{${prefix}}:due`]: 8 }))
    const taken = [worker.run('hold'), other.run('hold')]
    await eventually(() => expect(taken.flat()).toHaveLength(8))
    expect(new Set(taken.flat())).toEqual(new Set(sessions))
    expect(taken.map(({ length }) => length)).toEqual([4, 4])
  })
})
