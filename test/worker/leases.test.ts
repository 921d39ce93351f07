import { describe, expect, test } from 'vitest'
import { OutcomeUnknown } from '../../server/errors.js'
import { NO_METER } from '../../server/session/meter.js'
import type { LeaseNews, SessionStore } from '../../server/session/ports.js'
import type { Session } from '../../server/session/session.js'
import { createLeases } from '../../server/worker/leases.js'
import { createFakeClock } from '../support/fake-clock.js'
import { givenSession } from '../support/given.js'
import { silentLog } from '../support/silent-log.js'

const TTL_MS = 9000
const session = givenSession({ phase: { kind: 'idle' } })
const { sessionId } = session.lease

type Renew = SessionStore['renew']

function start(renew: Renew, ttlMs = TTL_MS) {
  const clock = createFakeClock()
  const news: string[] = []
  const warnings: string[] = []
  const released: unknown[] = []
  const store = {
    renew,
    release: async (leases: unknown): Promise<void> => {
      released.push(leases)
    },
  }
  const leases = createLeases({
    store,
    clock,
    log: silentLog({ warn: (message) => warnings.push(message) }),
    meter: NO_METER,
    ttlMs,
    onNews: (id) => news.push(id),
  })
  return { clock, news, warnings, released, leases, hold: (of: Session = session) => leases.hold(of, clock.monotonic()) }
}

const holds =
  (change: Partial<LeaseNews> = {}): Renew =>
  async (leases) =>
    new Map(leases.map((lease) => [lease.sessionId, { inbox: 0, control: 0, ...change }]))
const never: Renew = () => new Promise(() => undefined)

describe('a lease that is held', () => {
  test('is renewed before it ends, for as long as it is held', async () => {
    const { clock, hold, leases } = start(holds())
    const held = hold()
    await clock.advance(TTL_MS * 10)
    expect(held.lost.aborted).toBe(false)
    leases.stop()
  })

  test('is lost when the database says that another has it', async () => {
    const { clock, hold } = start(async () => new Map())
    const held = hold()
    await clock.advance(TTL_MS / 3)
    expect(held.lost.aborted).toBe(true)
  })

  test('is not lost when a renewal misses it because a commit gives it back', async () => {
    const { clock, hold, warnings } = start(async () => new Map())
    const held = hold()
    held.leaving(true)
    await clock.advance(TTL_MS / 3)
    expect(held.lost.aborted).toBe(false)
    held.leaving(false)
    await clock.advance(TTL_MS / 3)
    expect(held.lost.aborted).toBe(true)
    expect(warnings).toHaveLength(1)
  })

  test('runs out in its time also while a commit is to give it back', async () => {
    const { clock, hold } = start(async () => new Map())
    const held = hold()
    held.leaving(true)
    await clock.advance(TTL_MS + TTL_MS / 6)
    expect(held.lost.aborted).toBe(true)
  })

  test('is lost when no renewal is answered in its time', async () => {
    const { clock, hold } = start(async () => Promise.reject(new OutcomeUnknown('the connection broke')))
    const held = hold()
    await clock.advance(TTL_MS - 1)
    expect(held.lost.aborted).toBe(false)
    await clock.advance(TTL_MS / 6)
    expect(held.lost.aborted).toBe(true)
  })

  test('is lost in its time also when a renewal never comes back', async () => {
    const { clock, hold } = start(never)
    const held = hold()
    await clock.advance(TTL_MS + TTL_MS / 6)
    expect(held.lost.aborted).toBe(true)
  })

  test('is kept by the next renewal when one is never answered', async () => {
    let asked = 0
    const { clock, hold } = start(async (leases, ttlMs) => {
      asked += 1
      return asked === 1 ? new Promise(() => undefined) : holds()(leases, ttlMs)
    })
    const held = hold()
    await clock.advance(TTL_MS * 2)
    expect(asked).toBeGreaterThan(2)
    expect(held.lost.aborted).toBe(false)
  })

  test('counts from before its claim was sent', async () => {
    const { clock, leases } = start(async () => Promise.reject(new OutcomeUnknown('the connection broke')))
    const sentAt = clock.monotonic()
    await clock.advance(TTL_MS - 100)
    const held = leases.hold(session, sentAt)
    await clock.advance(TTL_MS / 6)
    expect(held.lost.aborted).toBe(true)
  })

  test('brings news of the inbox once, when there are some', async () => {
    const { clock, hold, news } = start(holds({ inbox: 3 }))
    hold()
    await clock.advance(TTL_MS * 2)
    expect(news).toEqual([sessionId])
  })

  test('is lost, and given back, when the process leaves', async () => {
    const { hold, leases, released } = start(holds())
    const held = hold()
    await leases.releaseAll()
    expect(held.lost.aborted).toBe(true)
    expect(released).toEqual([[session.lease]])
  })
})

describe('a lease that was given back', () => {
  test('is not renewed any more', async () => {
    let asked = 0
    const { clock, hold } = start(async () => {
      asked += 1
      return new Map()
    })
    hold().drop()
    await clock.advance(TTL_MS * 3)
    expect(asked).toBe(0)
  })

  test('while its renewal was under way is no loss, and nobody is warned', async () => {
    let answer = (_: ReadonlyMap<typeof sessionId, LeaseNews>): void => undefined
    const { clock, hold, warnings } = start(() => new Promise((resolve) => (answer = resolve)))
    const held = hold()
    await clock.advance(TTL_MS / 3)
    held.drop()
    answer(new Map())
    await clock.advance(0)
    expect(held.lost.aborted).toBe(false)
    expect(warnings).toEqual([])
  })

  test('and taken again is another lease: dropping the first leaves the second', async () => {
    const { clock, hold } = start(async () => new Map())
    const first = hold()
    const second = hold({ ...session, lease: { ...session.lease, epoch: 8 } })
    first.drop()
    await clock.advance(TTL_MS / 3)
    expect(second.lost.aborted).toBe(true)
  })
})

test('a process that is the lease itself renews nothing and loses nothing', async () => {
  const { clock, hold } = start(never, Infinity)
  const held = hold()
  await clock.advance(TTL_MS * 100)
  expect(held.lost.aborted).toBe(false)
  expect(clock.pending).toBe(0)
})

test('nothing runs after a stop, not even when it comes during a renewal', async () => {
  let answer = (_: ReadonlyMap<typeof sessionId, LeaseNews>): void => undefined
  const { clock, hold, leases } = start(() => new Promise((resolve) => (answer = resolve)))
  hold()
  await clock.advance(TTL_MS / 3)
  leases.stop()
  answer(new Map())
  await clock.advance(0)
  expect(clock.pending).toBe(0)
})
