import { describe, expect, it } from 'vitest'
import {
  BOB,
  cancel,
  claimDue,
  claimNew,
  endingCommit,
  ids,
  message,
  modelling,
  newCommit,
  newDelivery,
  newKey,
  newSession,
  openTurn,
  parkingCommit,
} from '../../support/store-fixtures.js'
import type { Subject } from '../session-store.js'

export function testDeliver(subject: Subject): void {
  describe('deliver', () => {
    it('numbers deliveries from 1 and counts controls', async () => {
      const { store, clock } = subject()
      const made = newSession(clock)
      await store.createSession(made)
      for (const delivery of [message(clock), cancel(clock), message(clock, 'second', BOB)]) await store.deliver(made.id, delivery, null)
      const session = await claimDue(store, made.id, made.agent)
      expect(session.deliveries.map(({ kind, position }) => [kind, position])).toEqual([
        ['MESSAGE', 1],
        ['CANCEL', 2],
        ['MESSAGE', 3],
      ])
      expect([session.inbox, session.control]).toEqual([3, 2])
      expect(session.deliveries[2]?.by).toEqual(BOB)
      expect(await store.loadDeliveries(made.id, 1)).toEqual(session.deliveries.slice(1))
    })

    it('moves a session at rest to RUNNING for a message only', async () => {
      const { store, clock } = subject()
      const made = newSession(clock)
      await store.createSession(made)
      expect(await store.deliver(made.id, cancel(clock), null)).toMatchObject({ kind: 'accepted', status: 'CREATED' })
      expect(await store.deliver(made.id, message(clock), null)).toMatchObject({ kind: 'accepted', status: 'RUNNING' })
    })

    it('wakes a parked session: IDLE becomes RUNNING and it is due', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      await store.commit(session, parkingCommit(session, clock), 1000)
      const { id, agent } = session.facts
      expect(await store.sweep({ agents: [agent], limit: 1 })).toEqual([])
      expect(await store.deliver(id, message(clock), null)).toMatchObject({ status: 'RUNNING' })
      expect(await store.sweep({ agents: [agent], limit: 1 })).toEqual([id])
    })

    it('names the turn that was open', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      const turn = openTurn(clock)
      await store.commit(session, newCommit(session, { checkpoint: modelling(session.checkpoint, turn, ids.next('stp')) }), 1000)
      await store.deliver(session.facts.id, cancel(clock), null)
      expect(await store.loadDeliveries(session.facts.id, 1)).toMatchObject([{ kind: 'CANCEL', openTurnId: turn.id }])
    })

    it('answers an unknown session and an ended one', async () => {
      const { store, clock } = subject()
      expect(await store.deliver(ids.next('ses'), message(clock), null)).toEqual({ kind: 'not-found' })
      const session = await claimNew(subject())
      await store.commit(session, endingCommit(session, clock), 1000)
      expect(await store.deliver(session.facts.id, message(clock), null)).toEqual({ kind: 'ended' })
      expect(await store.deliver(session.facts.id, message(clock), newKey())).toEqual({ kind: 'ended' })
    })
  })
  describe('deliver: keys', () => testKeys(subject))
}

function testKeys(subject: Subject): void {
  it('takes effect once: the key gives the first delivery again, whatever the target, also after the end', async () => {
    const { store, clock } = subject()
    const session = await claimNew(subject())
    const [key, first] = [newKey(), message(clock)]
    expect((await store.deliver(session.facts.id, first, key)).kind).toBe('accepted')
    const duplicate = { kind: 'duplicate', sessionId: session.facts.id, deliveryId: first.id }
    expect(await store.deliver(session.facts.id, message(clock), key)).toEqual(duplicate)
    expect(await store.deliver(ids.next('ses'), message(clock), key)).toEqual(duplicate)
    expect(await store.findKey(key)).toEqual(duplicate)
    expect(await store.loadDeliveries(session.facts.id, 1)).toHaveLength(1)
    const seen = { ...session, inbox: 2 }
    expect((await store.commit(seen, endingCommit(seen, clock), 1000)).kind).toBe('committed')
    expect(await store.deliver(session.facts.id, message(clock), key)).toEqual(duplicate)
  })

  it('refuses the key for something else', async () => {
    const { store, clock } = subject()
    const { id } = (await claimNew(subject())).facts
    const key = newKey()
    await store.deliver(id, message(clock), key)
    expect(await store.deliver(id, message(clock), { ...key, hash: 'other' })).toEqual({ kind: 'mismatch' })
    expect(await store.findKey({ ...key, hash: 'other' })).toEqual({ kind: 'mismatch' })
  })

  it('racing duplicates have one effect', async () => {
    const { store, clock } = subject()
    const { id } = (await claimNew(subject())).facts
    const key = newKey()
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => store.deliver(id, message(clock), key)))
    expect(outcomes.filter((outcome) => outcome.kind === 'accepted')).toHaveLength(1)
    expect(new Set(outcomes.map((outcome) => ('deliveryId' in outcome ? outcome.deliveryId : outcome.kind))).size).toBe(1)
    expect(await store.loadDeliveries(id, 1)).toHaveLength(1)
  })

  it('racing deliveries without keys are all kept, in one order', async () => {
    const { store, clock } = subject()
    const { id } = (await claimNew(subject())).facts
    const deliveries = Array.from({ length: 8 }, (_, index) => newDelivery(clock, { kind: 'END', reason: `${index}` }))
    await Promise.all(deliveries.map((delivery) => store.deliver(id, delivery, null)))
    const kept = await store.loadDeliveries(id, 1)
    expect(kept.map(({ position }) => position)).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
    expect(new Set(kept.map((delivery) => delivery.id))).toEqual(new Set(deliveries.map((delivery) => delivery.id)))
  })
}
