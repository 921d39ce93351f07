import { describe, expect, it } from 'vitest'
import { EXPIRED_MS, TTL_MS, cancel, claimDue, claimNew, endingCommit, ids, message, newSession } from '../../support/store-fixtures.js'
import type { Subject } from '../session-store.js'

export function testLeases(subject: Subject): void {
  describe('renew', () => {
    it('extends the leases that hold and tells what arrived', async () => {
      const { store, clock } = subject()
      const [session, old] = [await claimNew(subject(), {}, EXPIRED_MS), await claimNew(subject(), {}, EXPIRED_MS)]
      await claimDue(store, old.facts.id, old.facts.agent)
      await store.deliver(session.facts.id, cancel(clock), null)
      const news = await store.renew([session.lease, old.lease, { ...session.lease, sessionId: ids.next('ses') }], TTL_MS)
      expect(news).toEqual(new Map([[session.facts.id, { inbox: 2, control: 2 }]]))
      expect(await store.sweep({ agents: [session.facts.agent], limit: 1 })).toEqual([])
      expect(await store.renew([], TTL_MS)).toEqual(new Map())
    })
  })

  describe('release', () => {
    it('gives leases back: their sessions are due at once, and nobody else is touched', async () => {
      const { store } = subject()
      const [session, old] = [await claimNew(subject()), await claimNew(subject(), {}, EXPIRED_MS)]
      const newer = await claimDue(store, old.facts.id, old.facts.agent)
      await store.release([session.lease, old.lease], 'unused')
      expect(await store.sweep({ agents: [session.facts.agent, old.facts.agent], limit: 5 })).toEqual([session.facts.id])
      expect((await store.renew([newer.lease], TTL_MS)).size).toBe(1)
      await store.release([], 'unused')
    })

    it('of all frees every lease and counts them', async () => {
      const { store, clock } = subject()
      const [session, ended] = [await claimNew(subject()), await claimNew(subject())]
      await store.commit(ended, endingCommit(ended, clock), TTL_MS)
      expect(await store.releaseAll()).toBeGreaterThanOrEqual(1)
      expect(await store.sweep({ agents: [session.facts.agent, ended.facts.agent], limit: 5 })).toEqual([session.facts.id])
      expect(await store.releaseAll()).toBe(0)
    })
  })

  describe('sweep', () => {
    it('finds what is due and free, for these agents, longest due first, up to the limit', async () => {
      const { store, clock } = subject()
      const agent = `sweep-${ids.next('ses')}`
      const due = []
      for (let count = 0; count < 3; count += 1) {
        const made = newSession(clock, { agent, firstDelivery: message(clock) })
        await store.createSession(made)
        due.push(made.id)
      }
      const held = await claimNew(subject(), { agent })
      await claimNew(subject())
      expect(await store.sweep({ agents: [agent, 'nobody'], limit: 10 })).toEqual(due)
      expect(await store.sweep({ agents: [agent], limit: 2 })).toEqual(due.slice(0, 2))
      expect(await store.sweep({ agents: [], limit: 2 })).toEqual([])
      await store.release([held.lease], 'unused')
      expect(await store.sweep({ agents: [agent], limit: 10 })).toEqual([...due, held.facts.id])
    })

    it('finds what a dead worker left when its lease ran out', async () => {
      const session = await claimNew(subject(), {}, EXPIRED_MS)
      expect(await subject().store.sweep({ agents: [session.facts.agent], limit: 1 })).toEqual([session.facts.id])
    })
  })
}
