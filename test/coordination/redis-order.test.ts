/**
 * What Redis answers and what it publishes come on two connections, in any order. A proxy makes the one late; time stands still, so that
 * nothing is found by asking again.
 */
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createFakeClock } from '../support/fake-clock.js'
import { sessionNamed } from '../support/log-store.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import { eventually, openRedisProcess, type RedisProcess } from './redis-process.js'
import { startRedisProxy, type RedisProxy } from './redis-proxy.js'

const [A, B] = [sessionNamed('a'), sessionNamed('b')]
const PREFIX = 'order'

let server: RedisServer
let proxy: RedisProxy
let redis: Redis
let processes: RedisProcess[]

beforeEach(async () => {
  server = await startRedisServer()
  proxy = await startRedisProxy(server.url)
  redis = new Redis(server.url)
  processes = []
  await learnScripts()
})
afterEach(async () => {
  await Promise.all(processes.map((process) => process.close()))
  redis.disconnect()
  await proxy.close()
  await server.close()
})

async function open(url = server.url): Promise<RedisProcess> {
  // Four beats a lease: what is held is held longer than the test takes.
  const process = await openRedisProcess({ url, prefix: PREFIX, clock: createFakeClock(), leaseTtlMs: 10_000 })
  processes.push(process)
  return process
}

/** A script that Redis does not know is sent twice. */
async function learnScripts(): Promise<void> {
  const process = await open()
  process.coordinator.wake(A)
  ;(await process.take())?.done()
  await process.close()
}

/** Resolves once the one has heard what the other one caused before. */
async function untilHeard(one: RedisProcess, other: RedisProcess): Promise<void> {
  const heard = new Promise<void>((resolve) => one.coordinator.onAnnounce(() => resolve()))
  other.coordinator.announce(A)
  await heard
}

function untilSize(name: string, size: number): Promise<void> {
  const key = `{${PREFIX}}:${name}`
  return eventually(async () => expect(await (name === 'woken' ? redis.scard(key) : redis.zcard(key))).toBe(size))
}

describe('when messages are late', () => {
  test('news of a session that was given back meanwhile does not make a second holder', async () => {
    const [worker, other] = [await open(proxy.url), await open()]
    other.coordinator.wake(A)
    const ticket = await worker.take()
    proxy.hold('subscriber')
    other.coordinator.wake(A)
    await untilSize('woken', 1)
    const waiting = other.take()
    await untilSize('idle', 1)
    ticket?.done()
    expect((await waiting)?.sessionId).toBe(A)
    const next = worker.take()
    proxy.release('subscriber')
    await untilHeard(worker, other)
    other.coordinator.wake(B)
    expect((await next)?.sessionId).toBe(B)
  })
})

describe('when answers are late', () => {
  test('work that is told of while a process asks is asked for again', async () => {
    const [worker, other] = [await open(proxy.url), await open()]
    proxy.hold('commands')
    const waiting = worker.take()
    await untilSize('idle', 1)
    other.coordinator.wake(A)
    await untilHeard(worker, other)
    proxy.release('commands')
    expect((await waiting)?.sessionId).toBe(A)
  })

  test('news of a session that is about to be handed out reaches whoever gets it', async () => {
    const [worker, other] = [await open(proxy.url), await open()]
    other.coordinator.wake(A)
    await untilSize('due', 1)
    proxy.hold('commands')
    const waiting = worker.take()
    await untilSize('due', 0)
    other.coordinator.wake(A)
    await untilHeard(worker, other)
    proxy.release('commands')
    const ticket = await waiting
    await new Promise<void>((resolve) => ticket?.onNudge(resolve))
  })

  test('a slot that has left meanwhile leaves its session to another process', async () => {
    const [worker, other] = [await open(proxy.url), await open()]
    other.coordinator.wake(A)
    await untilSize('due', 1)
    proxy.hold('commands')
    const stop = new AbortController()
    const left = worker.coordinator.take(stop.signal)
    await untilSize('due', 0)
    stop.abort()
    expect(await left).toBeNull()
    const waiting = other.take()
    await untilSize('idle', 1)
    proxy.release('commands')
    expect((await waiting)?.sessionId).toBe(A)
  })
})

test('a process that was deaf for a moment asks as soon as it hears again', async () => {
  const [worker, other] = [await open(proxy.url), await open()]
  const waiting = worker.take()
  await untilSize('idle', 1)
  await server.command('CLIENT', 'KILL', 'TYPE', 'pubsub')
  other.coordinator.wake(A)
  expect((await waiting)?.sessionId).toBe(A)
})

test('a session that another process was handed meanwhile is not given back by the first', async () => {
  const [first, second] = [await open(), await open()]
  first.coordinator.wake(A)
  const ticket = await first.take()
  // The hold runs out.
  await redis.zadd(`{${PREFIX}}:held`, 1, A)
  second.coordinator.wake(A)
  await second.take()
  ticket?.done()
  await first.coordinator.processes()
  expect(await redis.hget(`{${PREFIX}}:holder`, A)).toBe(second.id)
})
