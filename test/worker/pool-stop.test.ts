/** What a pool that stops leaves behind: nothing. */
import { describe, expect, test } from 'vitest'
import { startPool } from './pool-on-a-clock.js'

describe('a pool that stops', () => {
  test('leaves no timer behind', async () => {
    const { clock, open, pool, coordinator } = startPool()
    coordinator.wake(await open('hello'))
    await clock.advance(0)
    await pool.stop(1000)
    expect(clock.pending).toBe(0)
  })

  test('leaves no timer behind either for a session that met a fault', async () => {
    const { clock, open, pool, coordinator, errors } = startPool({
      store: () => ({ commit: async () => Promise.reject(new Error('a bug')) }),
    })
    coordinator.wake(await open('hello'))
    await clock.advance(0)
    expect(errors).toHaveLength(1)
    await pool.stop(1000)
    expect(clock.pending).toBe(0)
  })

  test('tells what does not end in time to stop, and gives the lease back', async () => {
    const { clock, open, pool, coordinator, store } = startPool({
      store: (memory) => ({
        commit: (session, commit, ttlMs) =>
          commit.guard === 'inbox' ? new Promise(() => undefined) : memory.commit(session, commit, ttlMs),
      }),
    })
    const id = await open('hello')
    coordinator.wake(id)
    await clock.advance(0)
    const stopped = pool.stop(1000)
    await clock.advance(1000)
    await stopped
    expect(await store.sweep({ agents: ['support'], limit: 10 })).toEqual([id])
  })

  test('gives back, and does not drive, what a claim brings only after its deadline', async () => {
    let commits = 0
    let answer = (): void => undefined
    const { clock, open, pool, coordinator, store } = startPool({
      store: (memory) => ({
        claim: async (...args) => {
          const session = await memory.claim(...args)
          await new Promise<void>((resolve) => (answer = resolve))
          return session
        },
        commit: (...args) => {
          commits += 1
          return memory.commit(...args)
        },
      }),
    })
    const id = await open('hello')
    coordinator.wake(id)
    await clock.advance(0)
    const stopped = pool.stop(1000)
    await clock.advance(1000)
    await stopped
    answer()
    await clock.advance(0)
    expect(commits).toBe(0)
    expect(await store.sweep({ agents: ['support'], limit: 10 })).toEqual([id])
  })

  test('stops its timers also when the leases cannot be given back', async () => {
    const { clock, open, pool, coordinator } = startPool({
      store: (memory) => ({
        commit: (session, commit, ttlMs) =>
          commit.guard === 'inbox' ? new Promise(() => undefined) : memory.commit(session, commit, ttlMs),
        release: async () => Promise.reject(new Error('the database is away')),
      }),
    })
    coordinator.wake(await open('hello'))
    await clock.advance(0)
    const stopped = pool.stop(1000)
    await clock.advance(1000)
    await stopped
    expect(clock.pending).toBe(0)
  })
})
