/** What a store counts so that a session which gets nowhere is noticed, and how it keeps such a session apart. */
import { describe, expect, it } from 'vitest'
import type { Session } from '../../../server/session/session.js'
import { EXPIRED_MS, TTL_MS, claimDue, claimNew, ids, message, newCommit, parkingCommit } from '../../support/store-fixtures.js'
import type { Subject } from '../session-store.js'

export function testClaims(subject: Subject): void {
  const again = ({ facts }: Session, ttlMs = TTL_MS) => claimDue(subject().store, facts.id, facts.agent, ttlMs)
  const isDue = async ({ facts }: Session): Promise<boolean> => {
    const { store } = subject()
    const swept = await store.sweep({ agents: [facts.agent], limit: 1 })
    return swept.length > 0 || (await store.claim(facts.id, { owner: ids.next('wrk'), ttlMs: TTL_MS, agents: [facts.agent] })) !== 'not-due'
  }

  describe('claims', () => {
    it('are counted until a commit, the own one included', async () => {
      const { store, clock } = subject()
      const first = await claimNew(subject(), {}, EXPIRED_MS)
      const second = await again(first)
      expect([first.claims, second.claims]).toEqual([1, 2])
      await store.commit(second, parkingCommit(second, clock, { park: { wakeAt: clock.now() - 1 } }), TTL_MS)
      expect((await again(second)).claims).toBe(1)
    })

    it('are counted anew from any commit, also one that goes on', async () => {
      const session = await claimNew(subject())
      await subject().store.commit(session, newCommit(session), EXPIRED_MS)
      expect((await again(session)).claims).toBe(1)
    })

    it('count for nothing when they are given back unused, however often: the session is due at once', async () => {
      let session = await claimNew(subject())
      for (let times = 0; times < 10; times += 1) {
        await subject().store.release([session.lease], 'unused')
        session = await again(session)
      }
      expect(session.claims).toBe(1)
    })

    it('never fall below none: one that led to a commit is no credit', async () => {
      const session = await claimNew(subject())
      await subject().store.commit(session, newCommit(session), TTL_MS)
      await subject().store.release([session.lease], 'unused')
      expect((await again(session)).claims).toBe(1)
    })

    it('of a newer lease are left alone by whoever gives an older one back', async () => {
      const first = await claimNew(subject(), {}, EXPIRED_MS)
      const second = await again(first)
      await subject().store.release([first.lease], 'unused')
      await subject().store.release([second.lease], 'unused')
      expect((await again(second)).claims).toBe(2)
    })

    it('that a dead process left count, and the next process has the session at once', async () => {
      const session = await claimNew(subject())
      await subject().store.releaseAll()
      expect((await again(session)).claims).toBe(2)
    })
  })

  describe('a session whose driver failed', () => {
    it('keeps its count and is not due before a pause, unless somebody asks', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      await store.release([session.lease], 'fault')
      expect(await isDue(session)).toBe(false)
      await store.deliver(session.facts.id, message(clock), null)
      expect((await again(session)).claims).toBe(2)
    })

    it('pauses also when it had come as far as a commit', async () => {
      const session = await claimNew(subject())
      await subject().store.commit(session, newCommit(session), TTL_MS)
      await subject().store.release([session.lease], 'fault')
      expect(await isDue(session)).toBe(false)
    })
  })

  describe('a session whose lease ran out before any commit', () => {
    it('is due at once the first time, and after a pause from then on, unless somebody asks', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject(), {}, EXPIRED_MS)
      await again(session, EXPIRED_MS)
      expect(await isDue(session)).toBe(false)
      await store.deliver(session.facts.id, message(clock), null)
      expect((await again(session)).claims).toBe(3)
    })
  })
}
