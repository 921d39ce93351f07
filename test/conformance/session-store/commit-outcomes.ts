import { describe, expect, it } from 'vitest'
import { addDeliveries, applyCommit } from '../../../server/session/session.js'
import {
  EXPIRED_MS,
  TTL_MS,
  cancel,
  chunk,
  claimDue,
  claimNew,
  endingCommit,
  message,
  newCommit,
  parkingCommit,
  waitingEvent,
} from '../../support/store-fixtures.js'
import type { Subject } from '../session-store.js'

export function testCommitOutcomes(subject: Subject): void {
  describe('commit: R2, fenced', () => {
    it('writes nothing under a lease that a newer one replaced', async () => {
      const { store, clock } = subject()
      const old = await claimNew(subject(), {}, EXPIRED_MS)
      const next = await claimDue(store, old.facts.id, old.facts.agent)
      expect(await store.commit(old, newCommit(old, { events: [waitingEvent(clock)] }), TTL_MS)).toEqual({ kind: 'fenced' })
      expect(await store.readEvents(old.facts.id, 0, 10)).toEqual([])
      expect((await store.commit(next, newCommit(next), TTL_MS)).kind).toBe('committed')
    })

    it('still commits after its lease ran out when nobody took the session', async () => {
      const session = await claimNew(subject(), {}, EXPIRED_MS)
      expect((await subject().store.commit(session, newCommit(session), TTL_MS)).kind).toBe('committed')
    })
  })
  describe('commit: R2, a lost reply', () => testRepeats(subject))
  describe('commit: R4, deliveries first', () => testGuards(subject))
}

function testRepeats(subject: Subject): void {
  it('is applied once when it is repeated, and answers the same events', async () => {
    const { store, clock } = subject()
    const session = await claimNew(subject())
    const commit = newCommit(session, { events: [waitingEvent(clock), chunk(clock, 'a')] })
    const first = await store.commit(session, commit, TTL_MS)
    expect(await store.commit(session, commit, TTL_MS)).toEqual(first)
    expect(await store.readEvents(session.facts.id, 0, 10)).toHaveLength(2)
  })

  it('is told also of commits that park, end, or have no events', async () => {
    const { store, clock } = subject()
    for (const toCommit of [parkingCommit, endingCommit]) {
      const session = await claimNew(subject())
      const commit = toCommit(session, clock)
      const first = await store.commit(session, commit, TTL_MS)
      expect(first.kind).toBe('committed')
      expect(await store.commit(session, commit, TTL_MS)).toEqual(first)
    }
  })

  it('is a fault when the session is further than that: its driver lost count', async () => {
    const { store } = subject()
    const session = await claimNew(subject())
    const commit = newCommit(session)
    await store.commit(session, commit, TTL_MS)
    await store.commit(applyCommit(session, commit), commit, TTL_MS)
    await expect(store.commit(session, commit, TTL_MS)).rejects.toThrow(/revision/)
  })
}

function testGuards(subject: Subject): void {
  it('guard inbox: refused while anything is unseen, and goes through once it is seen', async () => {
    const { store, clock } = subject()
    const session = await claimNew(subject())
    await store.deliver(session.facts.id, message(clock, 'unseen'), null)
    const refused = await store.commit(session, parkingCommit(session, clock, { events: [waitingEvent(clock)] }), TTL_MS)
    expect(refused).toMatchObject({ kind: 'moved', arrived: [{ kind: 'MESSAGE', text: 'unseen', position: 2 }] })
    expect(await store.readEvents(session.facts.id, 0, 10)).toEqual([])
    const seen = addDeliveries(session, refused.kind === 'moved' ? refused.arrived : [])
    expect(seen.deliveries).toHaveLength(2)
    expect((await store.commit(seen, parkingCommit(seen, clock), TTL_MS)).kind).toBe('committed')
  })

  it('guard control: lets a message pass, not a cancel', async () => {
    const { store, clock } = subject()
    const session = await claimNew(subject())
    await store.deliver(session.facts.id, message(clock), null)
    const commit = newCommit(session, { guard: 'control' })
    expect((await store.commit(session, commit, TTL_MS)).kind).toBe('committed')
    const next = applyCommit(session, commit)
    await store.deliver(session.facts.id, cancel(clock), null)
    const refused = await store.commit(next, newCommit(next, { guard: 'control' }), TTL_MS)
    expect(refused).toMatchObject({
      kind: 'moved',
      arrived: [
        { kind: 'MESSAGE', position: 2 },
        { kind: 'CANCEL', position: 3 },
      ],
    })
  })

  it('guard none: lets everything pass, and the session stays due for it', async () => {
    const { store, clock } = subject()
    const session = await claimNew(subject())
    await store.deliver(session.facts.id, cancel(clock), null)
    expect((await store.commit(session, newCommit(session), TTL_MS)).kind).toBe('committed')
    expect(await store.loadDeliveries(session.facts.id, session.inbox)).toHaveLength(1)
  })
}
