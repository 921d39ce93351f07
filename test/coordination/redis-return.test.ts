/** Processes and connections that come and go: in the middle of things, again and again, for good. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { systemClock, type Clock } from '../../server/clock.js'
import type { SessionId } from '../../server/ids.js'
import { createFakeClock } from '../support/fake-clock.js'
import { sessionNamed } from '../support/log-store.js'
import { startLossyProxy, type LossyProxy } from '../support/lossy-proxy.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import { eventually, openRedisProcess, type RedisProcess, type RedisProcessOptions } from './redis-process.js'

const [A, B, C] = [sessionNamed('a'), sessionNamed('b'), sessionNamed('c')]
const PREFIX = 'return'

let server: RedisServer
let proxy: LossyProxy
let processes: RedisProcess[]

beforeEach(async () => {
  server = await startRedisServer()
  proxy = await startLossyProxy(server.url)
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

/** A clock whose timers wait while it is frozen, as those of a process that is stopped. */
function createFreezableClock(): Clock & { freeze(): void; thaw(): void } {
  const waiting = new Set<() => void>()
  let isFrozen = false
  return {
    ...systemClock,
    after(delayMs, callback) {
      const run = (): void => {
        if (isFrozen) waiting.add(callback)
        else callback()
      }
      const cancel = systemClock.after(delayMs, run)
      return () => {
        cancel()
        waiting.delete(callback)
      }
    },
    freeze: () => void (isFrozen = true),
    thaw() {
      isFrozen = false
      for (const callback of [...waiting]) callback()
      waiting.clear()
    },
  }
}

function idle(): Promise<unknown> {
  return server.command('ZCARD', `{${PREFIX}}:idle`)
}

describe('Redis that was away', () => {
  test('gets what waits for a slot: another process takes it', async () => {
    const [busy, other] = [await open({ url: proxy.url }), await open()]
    proxy.shut()
    await busy.untilHealth(/./)
    busy.coordinator.wake(A)
    busy.coordinator.wake(B, 300)
    const taken = other.run('hold')
    proxy.open()
    await eventually(() => expect(taken).toEqual([A, B]))
  })

  test('learns with the first beat what is held', async () => {
    const [worker, other] = [await open({ url: proxy.url }), await open()]
    proxy.shut()
    await worker.untilHealth(/./)
    worker.coordinator.wake(A)
    const ticket = await worker.take()
    proxy.open()
    await worker.untilHealth(null)
    const nudged = new Promise<void>((resolve) => ticket?.onNudge(resolve))
    other.coordinator.wake(A)
    await nudged
    expect(await server.command('HGET', `{${PREFIX}}:holder`, A)).toBe(worker.id)
  })

  test('and comes and goes is told of once, and its end once', async () => {
    const worker = await open({ url: proxy.url })
    for (let round = 0; round < 8; round += 1) {
      proxy.shut()
      await worker.untilHealth(/./)
      proxy.open()
      await worker.untilHealth(null)
    }
    await eventually(() => expect(worker.lines).toEqual([expect.stringMatching(/^warn /), 'info Redis is of use again']))
    expect(worker.gaps).toBeGreaterThanOrEqual(16)
  })

  test('costs one timer and one entry a session, however often it is woken', async () => {
    const clock = createFakeClock()
    const worker = await open({ url: proxy.url, clock })
    await server.kill()
    await worker.untilHealth(/./)
    const { pending } = clock
    for (let nth = 0; nth < 10_000; nth += 1) worker.coordinator.wake(A, nth % 2 === 0 ? 0 : 60_000 - nth)
    await clock.advance(0)
    expect(clock.pending).toBe(pending + 1)
    const taken = worker.run('give back')
    await clock.advance(0)
    expect(taken).toEqual([A])
    expect(worker.failures).toBeGreaterThanOrEqual(10_000)
  })
})

describe('a process', () => {
  test('that leaves hands over what it holds, at once', async () => {
    const [leaving, worker] = [await open(), await open({ clock: createFakeClock() })]
    leaving.coordinator.wake(A)
    await leaving.take()
    const waiting = worker.take()
    await eventually(async () => expect(await idle()).toBe(1))
    await leaving.close()
    expect((await waiting)?.sessionId).toBe(A)
    expect(await worker.coordinator.processes()).toMatchObject([{ id: worker.id }])
  })

  test('that is frozen is not listed, and what it holds is due; thawed it is there again', async () => {
    const clock = createFreezableClock()
    const [frozen, worker] = [await open({ clock }), await open()]
    frozen.coordinator.wake(A)
    await frozen.take()
    clock.freeze()
    const taken = worker.run('hold')
    await eventually(() => expect(taken).toEqual([A]))
    await eventually(async () => expect(await worker.coordinator.processes()).toMatchObject([{ id: worker.id }]))
    const { gaps } = frozen
    clock.thaw()
    await eventually(async () => expect(await worker.coordinator.processes()).toHaveLength(2))
    await eventually(() => expect(frozen.gaps).toBe(gaps + 1))
  })

  test('that has died is not told of work: the next one is', async () => {
    const [api, worker] = [await open({ slots: 0 }), await open({ clock: createFakeClock() })]
    const dead = await open({ url: proxy.url })
    void dead.take()
    await eventually(async () => expect(await idle()).toBe(1))
    const waiting = worker.take()
    await eventually(async () => expect(await idle()).toBe(2))
    proxy.shut()
    await eventually(async () =>
      expect(await server.command('PUBSUB', 'NUMSUB', `${PREFIX}:announcements`)).toEqual([`${PREFIX}:announcements`, 2]),
    )
    api.coordinator.wake(A)
    expect((await waiting)?.sessionId).toBe(A)
  })
})

describe('close', () => {
  const SITUATIONS: readonly { readonly name: string; readonly before: () => unknown }[] = [
    { name: 'everything works', before: () => null },
    { name: 'Redis is gone', before: () => server.kill() },
    { name: 'the connections are silent', before: () => proxy.silence() },
    { name: 'the connections are being broken', before: () => proxy.shut() },
    { name: 'answers are late', before: () => proxy.delay(100) },
  ]
  test.each(SITUATIONS)('with commands under way, while $name, answers everybody and says nothing', async ({ before }) => {
    const worker = await open({ url: proxy.url })
    await before()
    const { coordinator } = worker
    const tickets = [worker.take(), worker.take()]
    const taken: (SessionId | undefined)[] = []
    for (const ticket of tickets) void ticket.then((value) => taken.push(value?.sessionId))
    for (const session of [A, B, C]) {
      coordinator.wake(session)
      coordinator.publish(session, [])
      coordinator.announce(session)
      void coordinator.subscribe(session, () => undefined)
    }
    await Promise.all([coordinator.close(), coordinator.close(), coordinator.processes()])
    await Promise.all(tickets)
    const lines = [...worker.lines]
    coordinator.wake(A)
    expect(await worker.take()).toBeNull()
    expect(worker.lines).toEqual(lines)
  })

  test('with a hand-out under way gives it back', async () => {
    const [api, leaving, worker] = [await open({ slots: 0 }), await open(), await open({ clock: createFakeClock() })]
    api.coordinator.wake(A)
    await eventually(async () => expect(await server.command('ZCARD', `{${PREFIX}}:due`)).toBe(1))
    const left = leaving.take()
    await leaving.coordinator.close()
    expect(await left).toBeNull()
    expect((await worker.take())?.sessionId).toBe(A)
  })
})
