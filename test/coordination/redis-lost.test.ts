/** Messages, answers and memory that are lost: what is due is handed out all the same, and a session never stays stuck. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock, type Clock } from '../../server/clock.js'
import { createFakeClock } from '../support/fake-clock.js'
import { sessionNamed } from '../support/log-store.js'
import { withRedis } from '../support/redis.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import { turnResumed } from '../support/sample-events.js'
import { eventually, openRedisProcess, type RedisProcess, type RedisProcessOptions } from './redis-process.js'
import { startRedisProxy, type RedisProxy } from './redis-proxy.js'

const [A, B, C] = [sessionNamed('a'), sessionNamed('b'), sessionNamed('c')]
const PREFIX = 'lost'

let server: RedisServer
let proxy: RedisProxy
let processes: RedisProcess[]

beforeEach(async () => {
  server = await startRedisServer()
  proxy = await startRedisProxy(server.url)
  processes = []
})
afterEach(async () => {
  await Promise.all(processes.map((process) => process.close()))
  await proxy.close()
  await server.close()
})

async function open(options: Partial<RedisProcessOptions> = {}): Promise<RedisProcess> {
  const process = await openRedisProcess({ url: server.url, prefix: PREFIX, ...options })
  processes.push(process)
  return process
}

function key(name: string): string {
  return `{${PREFIX}}:${name}`
}

describe('an answer that is lost', () => {
  // With a clock that stands still nothing is found by asking again.
  /** A worker that holds a session in the eyes of Redis, and does not know of it. */
  async function loseHandOut(clock: Clock): Promise<{ readonly worker: RedisProcess; readonly other: RedisProcess }> {
    const other = await open({ slots: 0 })
    const worker = await open({ url: proxy.url, clock })
    other.coordinator.wake(A)
    await eventually(async () => expect(await server.command('ZCARD', key('due'))).toBe(1))
    // Answers come in order: after this one none of its start is under way, which would be cut in place of the one that is meant.
    await worker.coordinator.processes()
    proxy.cutNextAnswer('commands')
    return { worker, other }
  }

  test('costs the life of a hold: then the session is due again', async () => {
    const { worker } = await loseHandOut(systemClock)
    expect((await worker.take())?.sessionId).toBe(A)
    expect(worker.failures).toBeGreaterThan(0)
  })

  test('costs nothing when the session is woken: its holder takes it', async () => {
    const { worker, other } = await loseHandOut(createFakeClock())
    const waiting = worker.take()
    await worker.untilHealth(/closed/)
    await worker.untilHealth(null)
    expect(await server.command('HGET', key('holder'), A)).toBe(worker.id)
    other.coordinator.wake(A)
    expect((await waiting)?.sessionId).toBe(A)
  })

  test('costs nothing when the session is woken and its holder has no free slot: another one takes it', async () => {
    const { worker, other } = await loseHandOut(createFakeClock())
    const stop = new AbortController()
    const left = worker.coordinator.take(stop.signal)
    await worker.untilHealth(/closed/)
    stop.abort()
    expect(await left).toBeNull()
    await worker.untilHealth(null)
    const waiting = (await open({ clock: createFakeClock() })).take()
    other.coordinator.wake(A)
    expect((await waiting)?.sessionId).toBe(A)
  })
})

describe('a process that is deaf', () => {
  test('says so, is handed work once a beat, and hears again without a new start', async () => {
    const other = await open({ slots: 0 })
    const worker = await open({ url: proxy.url })
    const heard: unknown[] = []
    await worker.coordinator.subscribe(A, (events) => heard.push(events))
    const taken = worker.run('hold')
    proxy.silence('subscriber')
    other.coordinator.wake(B)
    await eventually(() => expect(taken).toEqual([B]))
    await worker.untilHealth(/^what is published is not heard$/)
    const { gaps } = worker
    await worker.untilHealth(null)
    expect(worker.gaps).toBeGreaterThan(gaps)
    other.coordinator.publish(A, [{ ...turnResumed('again'), sessionId: A, position: 1, endsWrite: true }])
    await eventually(() => expect(heard).toHaveLength(1))
    await eventually(() => expect(worker.lines).toHaveLength(2))
  })

  test('because it fell too far behind is connected again, and what it follows is followed again', async () => {
    await server.command('CONFIG', 'SET', 'client-output-buffer-limit', 'pubsub 100000 0 0')
    const [other, worker] = [await open({ slots: 0 }), await open()]
    const positions: number[] = []
    for (const session of [A, B]) {
      await worker.coordinator.subscribe(session, (events) => positions.push(...events.map(({ position }) => position)))
    }
    const { gaps } = worker
    const long = turnResumed('x'.repeat(200_000))
    other.coordinator.publish(A, [{ ...long, sessionId: A, position: 1, endsWrite: true }])
    await eventually(() => expect(worker.gaps).toBeGreaterThanOrEqual(gaps + 2))
    await worker.untilHealth(null)
    other.coordinator.publish(B, [{ ...turnResumed('short'), sessionId: B, position: 2, endsWrite: true }])
    await eventually(() => expect(positions).toEqual([2]))
  })
})

describe('memory that is lost', () => {
  test('is noticed with the next beat, and who is idle is told of work as before', async () => {
    const [other, worker] = [await open({ slots: 0 }), await open()]
    const taken = worker.run('hold')
    const { gaps } = worker
    await server.command('FLUSHALL')
    await eventually(() => expect(worker.gaps).toBe(gaps + 1))
    await eventually(async () => expect(await server.command('ZCARD', key('idle'))).toBe(1))
    other.coordinator.wake(A)
    await eventually(() => expect(taken).toEqual([A]))
    expect(worker.lines).toEqual([])
  })

  test('does not give away for long what is held: its holder says so with each beat', async () => {
    const [other, worker] = [await open(), await open()]
    worker.coordinator.wake(A)
    const ticket = await worker.take()
    await server.command('FLUSHALL')
    await eventually(async () => expect(await server.command('HGET', key('holder'), A)).toBe(worker.id))
    const taken = other.run('hold')
    const nudged = new Promise<void>((resolve) => ticket?.onNudge(resolve))
    other.coordinator.wake(A)
    await nudged
    other.coordinator.wake(B)
    await eventually(() => expect(taken).toEqual([B]))
  })

  test('of scripts is not noticed at all', async () => {
    const [other, worker] = [await open({ slots: 0 }), await open()]
    await server.command('SCRIPT', 'FLUSH')
    const taken = worker.run('hold')
    other.coordinator.wake(A)
    await eventually(() => expect(taken).toEqual([A]))
    expect([...worker.lines, ...other.lines, worker.failures, other.failures]).toEqual([0, 0])
  })

  test.each(['due', 'held', 'holder', 'woken', 'idle', 'processes', 'alive'])('of %s alone: the next wake is handed out', async (name) => {
    const [other, worker, third] = [await open({ slots: 0 }), await open(), await open()]
    other.coordinator.wake(A)
    const held = await worker.take()
    other.coordinator.wake(A)
    other.coordinator.wake(B)
    await eventually(async () => expect(await server.command('ZCARD', key('due'))).toBe(1))
    await server.command('DEL', key(name))
    held?.done()
    const taken = [worker.run('give back'), third.run('give back')]
    for (const session of [A, B, C]) other.coordinator.wake(session)
    await eventually(() => expect(new Set(taken.flat())).toEqual(new Set([A, B, C])))
    await eventually(async () => expect(await other.coordinator.processes()).toHaveLength(3))
  })

  test('and a clock that is set back: a hold from the future holds nobody up', async () => {
    const worker = await open()
    const tomorrow = (Date.now() + 86_400_000) * 1000
    await withRedis(async (redis) => {
      await redis.zadd(key('held'), tomorrow, A)
      await redis.hset(key('holder'), A, 'wrk_gone')
    }, server.url)
    worker.coordinator.wake(A)
    expect((await worker.take())?.sessionId).toBe(A)
  })

  test('as well as what others write there: it is passed over', async () => {
    const worker = await open()
    const heard: unknown[] = []
    await worker.coordinator.subscribe(A, (events) => heard.push(events))
    await withRedis(async (redis) => {
      await redis.hset(key('processes'), 'wrk_other', '{not JSON')
      await redis.zadd(key('alive'), '+inf', 'wrk_other')
      for (const text of ['', 'b', 'bx', 'w', 'n', 'nses_unknown', 'z']) await redis.publish(`${PREFIX}:process:${worker.id}`, text)
      for (const text of ['', 'x', ' ']) await redis.publish(`${PREFIX}:announcements`, text)
      for (const text of ['', '1', '1 wrk_x', '1 wrk_x {', '1 wrk_x [1]', '2 wrk_x []']) await redis.publish(`${PREFIX}:events:${A}`, text)
    }, server.url)
    expect(await worker.coordinator.processes()).toMatchObject([{ id: worker.id }])
    worker.coordinator.publish(A, [])
    await eventually(() => expect(heard).toEqual([[]]))
    worker.coordinator.wake(B)
    expect((await worker.take())?.sessionId).toBe(B)
    expect(worker.lines).toEqual([])
  })
})
