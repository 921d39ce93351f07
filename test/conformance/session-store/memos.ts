import { describe, expect, it } from 'vitest'
import { claimNew, ids } from '../../support/store-fixtures.js'
import type { Subject } from '../session-store.js'

export function testMemos(subject: Subject): void {
  describe('memos', () => {
    it('keep the first value of a key, of this session alone', async () => {
      const { store, clock } = subject()
      const [session, other] = [await claimNew(subject()), await claimNew(subject())]
      const { id } = session.facts
      expect(await store.loadMemo(id, 'rate')).toBeNull()
      expect(await store.saveMemo(session.lease, { key: 'rate', value: { at: [1, null] }, at: clock.now() })).toBe('kept')
      expect(await store.saveMemo(session.lease, { key: 'rate', value: 2, at: clock.now() })).toBe('there')
      expect(await store.loadMemo(id, 'rate')).toEqual({ value: { at: [1, null] } })
      expect(await store.loadMemo(other.facts.id, 'rate')).toBeNull()
    })

    it('keep null, which is a value', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      expect(await store.saveMemo(session.lease, { key: 'none', value: null, at: clock.now() })).toBe('kept')
      expect(await store.loadMemo(session.facts.id, 'none')).toEqual({ value: null })
    })

    it('keep nothing under a lease that does not hold (R2)', async () => {
      const { store, clock } = subject()
      const { facts, lease } = await claimNew(subject())
      const memo = { key: 'rate', value: 1, at: clock.now() }
      expect(await store.saveMemo({ ...lease, epoch: lease.epoch + 1 }, memo)).toBe('fenced')
      expect(await store.saveMemo({ ...lease, owner: ids.next('wrk') }, memo)).toBe('fenced')
      expect(await store.loadMemo(facts.id, 'rate')).toBeNull()
    })
  })
}
