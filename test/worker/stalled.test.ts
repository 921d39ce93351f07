/** Sessions that get nowhere: they come back later each time, are given up at last, and disturb nobody. */
import { describe, expect, test } from 'vitest'
import { OutcomeUnknown } from '../../server/errors.js'
import { storedId, type SessionId } from '../../server/ids.js'
import type { Commit } from '../../server/session/commit.js'
import type { SessionStore } from '../../server/session/ports.js'
import type { Session } from '../../server/session/session.js'
import { expectSound } from '../support/expect-sound.js'
import { ALICE } from '../support/world.js'
import { LEASE_TTL_MS, startPool, type Setup } from './pool-on-a-clock.js'

const MINUTE = 60_000
/** Seconds between the claims of a session whose driver fails each time; the sixth gives up. */
const PAUSES = [5, 10, 20, 40, 60]

type Commits = SessionStore['commit']

/** The one commit that a stalled session still needs. */
function givesUp({ closedTurn, settled }: Commit): boolean {
  return closedTurn?.error?.code === 'SESSION_STALLED' || settled.some(({ rejection }) => rejection?.code === 'SESSION_STALLED')
}

/** A pool in which the commits of the session `sick.id` go as `commit` says, but for the one that gives up. */
function startSick(commit: (...args: Parameters<Commits>) => ReturnType<Commits>, setup: Setup = {}) {
  const sick: { id: SessionId | null } = { id: null }
  const claims: { readonly at: number; readonly claims: number }[] = []
  const pool = startPool({
    ...setup,
    store: (memory) => ({
      ...setup.store?.(memory),
      claim: async (...args) => {
        const session = await memory.claim(...args)
        if (session !== 'not-due' && session.facts.id === sick.id) claims.push({ at: pool.clock.now(), claims: session.claims })
        return session
      },
      commit: (session, change, ttlMs) =>
        session.facts.id === sick.id && !givesUp(change) ? commit(session, change, ttlMs) : memory.commit(session, change, ttlMs),
    }),
  })
  const waits = () => claims.slice(1).map(({ at }, index) => (at - (claims[index]?.at ?? 0)) / 1000)
  return { ...pool, sick, claims, waits }
}

const fail = async (): Promise<never> => Promise.reject(new Error('a bug'))

describe('a session whose driver fails before any commit', () => {
  test('is tried again later each time, then loses what it could not begin, and takes the next message', async () => {
    const { clock, store, open, typesIn, sick, claims, waits, errors } = startSick(fail)
    sick.id = await open('hello')
    await clock.advance(2 * MINUTE)
    expect(await typesIn(sick.id)).toEqual([])
    await clock.advance(MINUTE)
    expect(waits()).toEqual(PAUSES)
    expect(claims.map((one) => one.claims)).toEqual([1, 2, 3, 4, 5, 6])
    expect(await typesIn(sick.id)).toEqual(['DELIVERY_SETTLED', 'SESSION_WAITING'])
    expect(errors).toEqual([
      'driving a session failed; it is tried again in at most 5 s',
      'driving a session failed; it is tried again in at most 10 s',
      'driving a session failed; it is tried again in at most 20 s',
      'driving a session failed; it is tried again in at most 40 s',
      'driving a session failed; in at most 60 s what it is at is given up (SESSION_STALLED)',
    ])
    const healed = sick.id
    sick.id = null
    const content = { kind: 'MESSAGE', text: 'again', policy: 'STEER' } as const
    await store.deliver(healed, { id: storedId('dlv', 'dlv_again'), by: ALICE, content, acceptedAt: clock.now() }, null)
    await clock.advance(1000)
    expect(await typesIn(healed)).toContain('TURN_COMPLETED')
    await expectSound(store, healed)
  })

  test('leaves the others alone: each is driven as soon as it is due', async () => {
    const { clock, open, typesIn, sick, coordinator } = startSick(fail)
    sick.id = await open('hello')
    for (let minute = 0; minute < 5; minute += 1) {
      const other = await open('hello')
      coordinator.wake(other)
      await clock.advance(0)
      expect(await typesIn(other)).toContain('TURN_COMPLETED')
      await clock.advance(MINUTE)
    }
  })

  test('begins anew to count from a commit, also one that a fault follows', async () => {
    let commits = 0
    const begun = startSick(async (...args) => {
      commits += 1
      return commits === 3 ? begun.store.commit(...args) : fail()
    })
    const { clock, open, sick, claims, errors } = begun
    sick.id = await open('hello')
    await clock.advance(25_000)
    expect(claims.map((one) => one.claims)).toEqual([1, 2, 3, 1])
    expect(errors.map((message) => message.split(' ').slice(-2).join(' '))).toEqual(['5 s', '10 s', '5 s', '5 s'])
  })

  test('is tried at once when somebody asks, and that counts as well', async () => {
    const { clock, store, open, sick, coordinator, claims } = startSick(fail)
    sick.id = await open('hello')
    coordinator.wake(sick.id)
    await clock.advance(0)
    const content = { kind: 'MESSAGE', text: 'well?', policy: 'STEER' } as const
    await store.deliver(sick.id, { id: storedId('dlv', 'dlv_well'), by: ALICE, content, acceptedAt: clock.now() }, null)
    coordinator.wake(sick.id)
    await clock.advance(0)
    expect(claims.map((one) => one.claims)).toEqual([1, 2])
  })

  test('goes on being tried, once a minute, when it cannot be given up either', async () => {
    const { clock, open, sick, claims, waits, errors } = startPoolThatReadsNonsense()
    sick.id = await open('hello')
    await clock.advance(10 * MINUTE)
    expect(waits()).toEqual([...PAUSES, 60, 60, 60, 60, 60, 60, 60])
    expect(errors).toHaveLength(claims.length)
    expect(errors.at(-1)).toBe('driving a session failed; what it is at could not be given up either, which is tried again in at most 60 s')
  })
})

/** Its claims bring a checkpoint that no code understands. */
function startPoolThatReadsNonsense() {
  const nonsense = (session: Session): Session => Object.assign({}, session, { checkpoint: {} })
  const sick: { id: SessionId | null } = { id: null }
  const claims: number[] = []
  const pool = startPool({
    store: (memory) => ({
      claim: async (...args) => {
        const session = await memory.claim(...args)
        if (session === 'not-due' || session.facts.id !== sick.id) return session
        claims.push(pool.clock.now())
        return nonsense(session)
      },
    }),
  })
  return { ...pool, sick, claims, waits: () => claims.slice(1).map((at, index) => (at - (claims[index] ?? 0)) / 1000) }
}

test('a turn whose driver fails in its middle fails with SESSION_STALLED, and what waits behind it is taken', async () => {
  let commits = 0
  const begun = startSick(async (session, change, ttlMs) => {
    commits += 1
    return commits === 1 ? begun.store.commit(session, change, ttlMs) : fail()
  })
  const { clock, store, open, typesIn, sick, waits } = begun
  sick.id = await open('hello')
  await clock.advance(1000)
  const content = { kind: 'END', reason: null } as const
  await clock.advance(MINUTE)
  await store.deliver(sick.id, { id: storedId('dlv', 'dlv_end'), by: ALICE, content, acceptedAt: clock.now() }, null)
  await clock.advance(MINUTE * 2)
  expect(waits().length).toBeGreaterThan(4)
  expect(await typesIn(sick.id)).toEqual([
    'SESSION_STARTED',
    'TURN_STARTED',
    'MESSAGE_RECEIVED',
    'DELIVERY_SETTLED',
    'STEP_STARTED',
    'STEP_INTERRUPTED',
    'TURN_FAILED',
  ])
  const healed = sick.id
  sick.id = null
  await clock.advance(MINUTE)
  expect((await typesIn(healed)).slice(-2)).toEqual(['DELIVERY_SETTLED', 'SESSION_COMPLETED'])
  await expectSound(store, healed)
})

describe('a session that takes its process down, or cannot be read', () => {
  test('comes back when the lease has run out, then later each time, and is given up at last', async () => {
    const dead: Commits = async () => Promise.reject(new OutcomeUnknown('nobody is there'))
    const { clock, open, typesIn, sick, waits, claims, coordinator } = startSick(dead, {
      renewsLeases: true,
      store: () => ({ renew: () => new Promise(() => undefined) }),
    })
    sick.id = await open('hello')
    coordinator.wake(sick.id)
    await clock.advance(9 * MINUTE)
    const ttl = LEASE_TTL_MS / 1000
    expect(waits()).toEqual([ttl, ttl + 5, ttl + 10, ttl + 20, ttl + 40])
    expect(claims.at(-1)).toMatchObject({ claims: 6 })
    expect(await typesIn(sick.id)).toEqual(['DELIVERY_SETTLED', 'SESSION_WAITING'])
  })

  test('disturbs nobody: a claim that throws comes back as seldom, and the others are driven', async () => {
    const sick: { id: SessionId | null } = { id: null }
    const claims: number[] = []
    const { clock, open, typesIn, coordinator } = startPool({
      store: (memory) => ({
        claim: async (...args) => {
          const session = await memory.claim(...args)
          if (session === 'not-due' || session.facts.id !== sick.id) return session
          claims.push(session.claims)
          throw new Error('a row cannot be decoded')
        },
      }),
    })
    sick.id = await open('hello')
    await clock.advance(10 * MINUTE)
    expect(claims).toEqual([1, 2, 3, 4, 5, 6, 7])
    const other = await open('hello')
    coordinator.wake(other)
    await clock.advance(0)
    expect(await typesIn(other)).toContain('TURN_COMPLETED')
  })
})

test('a session that ten processes in turn take, and leave before any commit because they stop, is not given up', async () => {
  const first = startPool({ store: () => ({ sweep: async () => [] }) })
  await first.pool.stop(0)
  const id = await first.open('hello')
  let claimed = 0
  for (let process = 0; process < 10; process += 1) {
    const { pool, coordinator, clock } = startPool({
      store: () => ({
        ...first.store,
        claim: async (...args) => {
          const session = await first.store.claim(...args)
          if (session !== 'not-due') claimed += 1
          return session
        },
        commit: () => new Promise(() => undefined),
      }),
    })
    coordinator.wake(id)
    await clock.advance(0)
    const stopped = pool.stop(1000)
    await clock.advance(1000)
    await stopped
  }
  expect(claimed).toBe(10)
  const last = startPool({ store: () => first.store })
  last.coordinator.wake(id)
  await last.clock.advance(0)
  expect(await first.typesIn(id)).toContain('TURN_COMPLETED')
  await expectSound(first.store, id)
})
