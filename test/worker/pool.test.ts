/** Slots, sweep, and what is told after a commit. */
import { describe, expect, test } from 'vitest'
import { defineTool } from '../../server/agents/define-tool.js'
import { storedId } from '../../server/ids.js'
import { scriptedFailure } from '../../server/models/scripted.js'
import type { SessionStore } from '../../server/session/ports.js'
import type { EndedTurn } from '../../server/worker/pool.js'
import { expectSound } from '../support/expect-sound.js'
import { ALICE, readLog } from '../support/world.js'
import { LEASE_TTL_MS, SWEEP_MS, startPool, type Setup } from './pool-on-a-clock.js'

describe('a session that nobody was told of', () => {
  test('is found by the sweep', async () => {
    const { clock, store, open, typesIn } = startPool()
    const id = await open('hello')
    await clock.advance(SWEEP_MS)
    expect(await typesIn(id)).toContain('TURN_COMPLETED')
    await expectSound(store, id)
  })

  test('is found by a later sweep when one fails', async () => {
    let sweeps = 0
    const { clock, open, typesIn } = startPool({
      store: (store) => ({
        sweep: async (options) => {
          sweeps += 1
          if (sweeps < 3) throw new Error('the database is away')
          return store.sweep(options)
        },
      }),
    })
    const id = await open('hello')
    await clock.advance(SWEEP_MS * 3)
    expect(await typesIn(id)).toContain('TURN_COMPLETED')
  })
})

describe('a session', () => {
  test('that is idle for too long ends by itself, with nobody there but the sweep', async () => {
    const { clock, store, open, typesIn } = startPool()
    const id = await open('hello', 90_000)
    await clock.advance(SWEEP_MS)
    expect((await typesIn(id)).at(-1)).toBe('SESSION_WAITING')
    await clock.advance(90_000 - SWEEP_MS)
    expect((await typesIn(id)).at(-1)).toBe('SESSION_WAITING')
    await clock.advance(2 * SWEEP_MS)
    expect((await typesIn(id)).at(-1)).toBe('SESSION_COMPLETED')
    await expectSound(store, id)
  })
})

describe('a turn that parks on a timer', () => {
  test('frees its slot, and goes on at its time', async () => {
    let calls = 0
    const { clock, store, open, typesIn, coordinator } = startPool({
      script: () => {
        calls += 1
        return calls === 1 ? { fail: scriptedFailure('MODEL_RATE_LIMITED', { retryAfterMs: 30_000 }) } : 'At last.'
      },
    })
    const id = await open('hello')
    coordinator.wake(id)
    await clock.advance(29_999)
    expect((await typesIn(id)).at(-1)).toBe('TURN_WAITING')
    await clock.advance(1)
    expect(await typesIn(id)).toContain('TURN_COMPLETED')
    await expectSound(store, id)
  })
})

describe('a commit that parks', () => {
  test('and is answered after the next renewal costs no lease', async () => {
    let losses = 0
    let answer = (): void => undefined
    const { clock, store, open, typesIn, coordinator } = startPool({
      renewsLeases: true,
      meter: { leaseLost: () => (losses += 1) },
      store: (memory) => ({
        commit: async (session, commit, ttlMs) => {
          const outcome = await memory.commit(session, commit, ttlMs)
          if (commit.park !== null) await new Promise<void>((resolve) => (answer = resolve))
          return outcome
        },
      }),
    })
    const id = await open('hello')
    coordinator.wake(id)
    await clock.advance(LEASE_TTL_MS / 3)
    expect(await typesIn(id)).toContain('TURN_COMPLETED')
    answer()
    await clock.advance(LEASE_TTL_MS)
    expect(losses).toBe(0)
    await expectSound(store, id)
  })
})

describe('a fault while a session is driven', () => {
  test('is tried again after a while, and the session goes on from its last commit', async () => {
    let commits = 0
    const { clock, store, open, typesIn, coordinator, errors } = startPool({
      store: (memory) => ({
        commit: async (...args) => {
          commits += 1
          if (commits === 2) throw new Error('a bug')
          return memory.commit(...args)
        },
      }),
    })
    const id = await open('hello')
    coordinator.wake(id)
    await clock.advance(4000)
    expect(await typesIn(id)).not.toContain('TURN_COMPLETED')
    await clock.advance(1000 + SWEEP_MS)
    expect(errors).toHaveLength(1)
    expect(await typesIn(id)).toContain('TURN_COMPLETED')
    await expectSound(store, id)
  })

  test('whose lease cannot be given back is tried until it can: the lease of an embedded database never runs out', async () => {
    let isFull = true
    const full = async () => Promise.reject(new Error('no space left on device'))
    const { clock, store, open, typesIn, coordinator } = startPool({
      store: (memory) => ({
        commit: (...args) => (isFull ? full() : memory.commit(...args)),
        release: (...args) => (isFull ? full() : memory.release(...args)),
      }),
    })
    const id = await open('hello')
    coordinator.wake(id)
    await clock.advance(12_000)
    isFull = false
    await clock.advance(10_000 + SWEEP_MS)
    expect(await typesIn(id)).toContain('TURN_COMPLETED')
    await expectSound(store, id)
  })

  test('of a claim leaves the slot free for others', async () => {
    let claims = 0
    const { clock, open, typesIn } = startPool({
      store: (memory) => ({
        claim: async (...args) => {
          claims += 1
          if (claims <= 4) throw new Error('the database is away')
          return memory.claim(...args)
        },
      }),
    })
    const id = await open('hello')
    await clock.advance(SWEEP_MS * 6)
    expect(await typesIn(id)).toContain('TURN_COMPLETED')
  })
})

describe('a lease that is lost while a tool runs', () => {
  test.each<[string, (store: SessionStore) => SessionStore['renew']]>([
    ['because the database says so', () => async () => new Map()],
    ['because no renewal is answered', () => () => new Promise(() => undefined)],
  ])('%s: the tool is told, nothing more is written, and no error is logged', async (_, renew) => {
    const told: string[] = []
    const work = defineTool({
      description: 'Works.',
      input: { type: 'object' },
      execute: (_input, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            told.push('stop')
            resolve('too late')
          })
        }),
    })
    const { clock, store, open, coordinator, errors, typesIn } = startPool({
      tools: { work },
      renewsLeases: true,
      store: (memory) => ({ renew: renew(memory) }),
      script: ({ step }) => (step === 0 ? { calls: [{ name: 'work' }] } : 'Done.'),
    })
    const id = await open('go')
    coordinator.wake(id)
    await clock.advance(SWEEP_MS)
    expect((await typesIn(id)).at(-1)).toBe('TOOL_CALL_START')
    await clock.advance(LEASE_TTL_MS - SWEEP_MS)
    expect(told).toEqual(['stop'])
    expect(errors).toEqual([])
    // Whoever takes the session when the lease has run out settles the call; the one that lost it wrote nothing.
    await clock.advance(SWEEP_MS)
    const ends = (await readLog(store, id)).filter((event) => event.type === 'TOOL_CALL_END')
    expect(ends).toMatchObject([{ data: { status: 'ABANDONED' } }])
    await expectSound(store, id)
  })
})

describe('what is told after a commit', () => {
  test('is told once for each turn, with its numbers', async () => {
    const turns: EndedTurn[] = []
    const { clock, open, coordinator } = startPool({ onTurnEnded: (turn) => turns.push(turn) })
    const id = await open('hello')
    coordinator.wake(id)
    await clock.advance(0)
    expect(turns).toMatchObject([{ number: 1, steps: 1, calls: 0, closed: { status: 'COMPLETED', output: 'Hi.' } }])
  })

  test('is told also of a turn that a cancel ended before it began', async () => {
    const turns: EndedTurn[] = []
    const { clock, store, open, coordinator } = startPool({ onTurnEnded: (turn) => turns.push(turn) })
    const id = await open('hello')
    const content = { kind: 'CANCEL', turnId: null, dropQueued: false } as const
    await store.deliver(id, { id: storedId('dlv', 'dlv_cancel'), by: ALICE, content, acceptedAt: clock.now() }, null)
    coordinator.wake(id)
    await clock.advance(0)
    expect(turns).toMatchObject([{ number: 1, steps: 0, calls: 0, closed: { status: 'CANCELLED' } }])
  })

  test.each<[string, Setup]>([
    ['live subscribers cannot be told', { coordinator: { publish: () => fail() } }],
    ['lists cannot be told', { coordinator: { announce: () => fail() } }],
    ['whoever counts turns throws', { onTurnEnded: () => fail() }],
  ])('never undoes it: %s', async (_, setup) => {
    let calls = 0
    const { clock, store, open, typesIn, coordinator, errors } = startPool({
      ...setup,
      script: () => {
        calls += 1
        return 'Hi.'
      },
    })
    const id = await open('hello')
    coordinator.wake(id)
    await clock.advance(0)
    expect(await typesIn(id)).toContain('TURN_COMPLETED')
    expect(calls).toBe(1)
    expect(errors).toEqual([])
    await expectSound(store, id)
  })
})

function fail(): never {
  throw new Error('nobody listens')
}
