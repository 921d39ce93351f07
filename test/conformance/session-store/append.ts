import { describe, expect, it } from 'vitest'
import {
  EXPIRED_MS,
  TTL_MS,
  chunk,
  claimDue,
  claimNew,
  ids,
  newCommit,
  parkingCommit,
  progress,
  waitingEvent,
} from '../../support/store-fixtures.js'
import type { Subject } from '../session-store.js'

export function testAppend(subject: Subject): void {
  describe('appendEvents', () => {
    it('writes the events of many sessions after what their logs hold', async () => {
      const { store, clock } = subject()
      const [one, two] = [await claimNew(subject()), await claimNew(subject())]
      await store.commit(one, newCommit(one, { events: [waitingEvent(clock)] }), TTL_MS)
      const batches = [
        { lease: one.lease, events: [chunk(clock, 'a'), progress(clock, ids.next('call'), 'b')] },
        { lease: two.lease, events: [chunk(clock, 'c')] },
      ]
      const outcomes = await store.appendEvents(batches, TTL_MS)
      const logs = await Promise.all([store.readEvents(one.facts.id, 1, 10), store.readEvents(two.facts.id, 0, 10)])
      expect(logs[0].map(({ position, endsWrite }) => [position, endsWrite])).toEqual([
        [2, false],
        [3, true],
      ])
      expect(logs[1].map(({ position, endsWrite }) => [position, endsWrite])).toEqual([[1, true]])
      expect(outcomes.get(one.facts.id)).toEqual({ kind: 'appended', events: logs[0] })
      expect(outcomes.get(two.facts.id)).toEqual({ kind: 'appended', events: logs[1] })
    })

    it('extends the lease, and leaves the next commit its revision', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject(), {}, EXPIRED_MS)
      await store.appendEvents([{ lease: session.lease, events: [chunk(clock, 'a')] }], TTL_MS)
      expect(await store.sweep({ agents: [session.facts.agent], limit: 1 })).toEqual([])
      const outcome = await store.commit(session, newCommit(session, { events: [waitingEvent(clock)] }), TTL_MS)
      expect(outcome).toMatchObject({ kind: 'committed', events: [{ position: 2 }] })
    })

    it('refuses one session and writes the others', async () => {
      const { store, clock } = subject()
      const [old, good, parked] = [await claimNew(subject(), {}, EXPIRED_MS), await claimNew(subject()), await claimNew(subject())]
      await claimDue(store, old.facts.id, old.facts.agent)
      await store.commit(parked, parkingCommit(parked, clock), TTL_MS)
      const unknown = { ...good.lease, sessionId: ids.next('ses') }
      const leases = [old.lease, parked.lease, good.lease, unknown]
      const outcomes = await store.appendEvents(
        leases.map((lease) => ({ lease, events: [chunk(clock, 'x')] })),
        TTL_MS,
      )
      expect(leases.map((lease) => outcomes.get(lease.sessionId)?.kind)).toEqual(['fenced', 'fenced', 'appended', 'fenced'])
      expect(await store.readEvents(old.facts.id, 0, 10)).toEqual([])
      expect(await store.readEvents(parked.facts.id, 0, 10)).toEqual([])
    })

    it('is nothing for nothing', async () => {
      const { store } = subject()
      const session = await claimNew(subject())
      expect(await store.appendEvents([], TTL_MS)).toEqual(new Map())
      expect(await store.appendEvents([{ lease: session.lease, events: [] }], TTL_MS)).toEqual(
        new Map([[session.facts.id, { kind: 'appended', events: [] }]]),
      )
    })
  })

  describe('readEvents', () => {
    it('gives pages in order, after a position', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      const events = Array.from({ length: 25 }, (_, index) => chunk(clock, `${index}`))
      await store.appendEvents([{ lease: session.lease, events }], TTL_MS)
      const page = await store.readEvents(session.facts.id, 10, 5)
      expect(page.map(({ position }) => position)).toEqual([11, 12, 13, 14, 15])
      expect(page[0]?.data).toEqual(events[10]?.data)
      expect(await store.readEvents(session.facts.id, 25, 5)).toEqual([])
      expect(await store.readEvents(ids.next('ses'), 0, 5)).toEqual([])
      expect(await store.readTails([session.facts.id, ids.next('ses')])).toEqual(
        new Map([[session.facts.id, { position: 25, ended: false }]]),
      )
    })
  })
}
