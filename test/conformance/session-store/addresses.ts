import { describe, expect, it } from 'vitest'
import { ALICE, TTL_MS, claimNew, endingCommit, ids, newSession } from '../../support/store-fixtures.js'
import type { SessionId } from '../../../server/ids.js'
import type { Subject } from '../session-store.js'

const MOST = 3

export function testAddresses(subject: Subject): void {
  const claim = (sessionId: SessionId, address: string, most = MOST) =>
    subject().store.claimAddress({ sessionId, address, most, claimedAt: subject().clock.now() })
  const holderOf = (address: string) => subject().store.findAddress(ALICE.tenant, address)

  async function open(): Promise<SessionId> {
    const made = newSession(subject().clock)
    await subject().store.createSession(made)
    return made.id
  }

  describe('claimAddress', () => {
    it('gives a free address to the session, and again when it holds it', async () => {
      const [id, address] = [await open(), `test:${ids.next('req')}`]
      expect(await claim(id, address)).toEqual({ kind: 'claimed' })
      expect(await holderOf(address)).toBe(id)
      expect(await claim(id, address)).toEqual({ kind: 'claimed' })
    })

    it('names the holder of a taken one, and changes nothing', async () => {
      const [id, other, address] = [await open(), await open(), `test:${ids.next('req')}`]
      await claim(id, address)
      expect(await claim(other, address)).toEqual({ kind: 'taken', holder: id })
      expect(await holderOf(address)).toBe(id)
    })

    it('of a full session is refused, but of what it holds', async () => {
      const [id, prefix] = [await open(), `test:${ids.next('req')}`]
      for (let count = 0; count < MOST; count += 1) await claim(id, `${prefix}-${count}`)
      expect(await claim(id, `${prefix}-more`)).toEqual({ kind: 'full' })
      expect(await claim(id, `${prefix}-0`)).toEqual({ kind: 'claimed' })
      expect(await holderOf(`${prefix}-more`)).toBeNull()
    })

    it('of racing claims of one session no more than fit are given', async () => {
      const [id, prefix] = [await open(), `test:${ids.next('req')}`]
      const outcomes = await Promise.all(Array.from({ length: 8 }, (_, index) => claim(id, `${prefix}-${index}`)))
      expect(outcomes.filter(({ kind }) => kind === 'claimed')).toHaveLength(MOST)
      expect(outcomes.filter(({ kind }) => kind === 'full')).toHaveLength(8 - MOST)
    })

    it('of racing sessions exactly one wins, and the others learn of it', async () => {
      const sessions = await Promise.all(Array.from({ length: 6 }, () => open()))
      const address = `test:${ids.next('req')}`
      const outcomes = await Promise.all(sessions.map((id) => claim(id, address)))
      const winner = await holderOf(address)
      expect(outcomes.filter(({ kind }) => kind === 'claimed')).toHaveLength(1)
      expect(outcomes.filter(({ kind }) => kind !== 'claimed')).toEqual(
        Array.from({ length: 5 }, () => ({ kind: 'taken', holder: winner })),
      )
    })

    it('of an ended session, or of none, is refused', async () => {
      const { store, clock } = subject()
      const ended = await claimNew(subject())
      await store.commit(ended, endingCommit(ended, clock), TTL_MS)
      expect(await claim(ended.facts.id, `test:${ids.next('req')}`)).toEqual({ kind: 'ended' })
      expect(await claim(ids.next('ses'), `test:${ids.next('req')}`)).toEqual({ kind: 'not-found' })
    })

    it('is over with the session: its end releases what it claimed', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      const address = `test:${ids.next('req')}`
      await claim(session.facts.id, address)
      await store.commit(session, endingCommit(session, clock), TTL_MS)
      expect(await holderOf(address)).toBeNull()
      expect(await claim(await open(), address)).toEqual({ kind: 'claimed' })
    })
  })

  describe('releaseAddress', () => {
    it('frees what the session holds, also when repeated, and nothing of others', async () => {
      const { store } = subject()
      const [id, other, address] = [await open(), await open(), `test:${ids.next('req')}`]
      await claim(id, address)
      await store.releaseAddress(other, address)
      expect(await holderOf(address)).toBe(id)
      await store.releaseAddress(id, address)
      await store.releaseAddress(id, address)
      expect(await claim(other, address)).toEqual({ kind: 'claimed' })
    })
  })
}
