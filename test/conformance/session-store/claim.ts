import { describe, expect, it } from 'vitest'
import {
  EXPIRED_MS,
  TTL_MS,
  acting,
  callRow,
  claimDue,
  claimNew,
  endingCommit,
  ids,
  message,
  newCommit,
  newSession,
  openTurn,
  parkingCommit,
} from '../../support/store-fixtures.js'
import type { Subject } from '../session-store.js'

export function testClaim(subject: Subject): void {
  describe('claim', () => {
    it('is for one worker at a time', async () => {
      const { store, clock } = subject()
      const made = newSession(clock, { firstDelivery: message(clock) })
      await store.createSession(made)
      const options = () => ({ owner: ids.next('wrk'), ttlMs: TTL_MS, agents: [made.agent] })
      const claims = await Promise.all(Array.from({ length: 6 }, () => store.claim(made.id, options())))
      expect(claims.filter((claim) => claim !== 'not-due')).toHaveLength(1)
    })

    it('needs a due session of an agent that is served here', async () => {
      const { store, clock } = subject()
      const idle = newSession(clock)
      await store.createSession(idle)
      const options = { owner: ids.next('wrk'), ttlMs: TTL_MS, agents: [idle.agent] }
      expect(await store.claim(idle.id, options)).toBe('not-due')
      await store.deliver(idle.id, message(clock), null)
      expect(await store.claim(idle.id, { ...options, agents: [] })).toBe('not-due')
      expect(await store.claim(ids.next('ses'), options)).toBe('not-due')
      expect(await store.claim(idle.id, options)).not.toBe('not-due')
    })

    it('takes over when the lease has run out, in a new epoch', async () => {
      const first = await claimNew(subject(), {}, EXPIRED_MS)
      const second = await claimDue(subject().store, first.facts.id, first.facts.agent)
      expect(second.lease.epoch).toBe(first.lease.epoch + 1)
      expect(second.lease.owner).not.toBe(first.lease.owner)
      expect({ ...second, lease: first.lease, claims: first.claims }).toEqual(first)
    })

    it('leaves a driven session to its driver, though a message made it due', async () => {
      const { store, clock } = subject()
      const { facts } = await claimNew(subject())
      await store.deliver(facts.id, message(clock), null)
      expect(await store.claim(facts.id, { owner: ids.next('wrk'), ttlMs: TTL_MS, agents: [facts.agent] })).toBe('not-due')
      expect(await store.sweep({ agents: [facts.agent], limit: 1 })).toEqual([])
    })

    it('never takes an ended session', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      await store.commit(session, endingCommit(session, clock), 1000)
      const options = { owner: ids.next('wrk'), ttlMs: TTL_MS, agents: [session.facts.agent] }
      expect(await store.claim(session.facts.id, options)).toBe('not-due')
    })

    it('reads what the last commit left: checkpoint, status, unsettled deliveries, calls of the open step', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      const [turn, stepId] = [openTurn(clock), ids.next('stp')]
      const result = { output: { sum: 0 }, text: '0', error: null, truncatedBytes: 3, endedAt: clock.now() }
      const calls = [
        callRow(turn.id, stepId, { input: null, rawInput: '{"a":', status: 'FAILED', startedAt: 5, result: { ...result, output: null } }),
        callRow(turn.id, stepId, { order: 1, label: 'Adds', status: 'COMPLETED', startedAt: clock.now(), result }),
        callRow(turn.id, stepId, { order: 2 }),
      ]
      const settled = [
        { id: session.deliveries[0]?.id ?? ids.next('dlv'), status: 'APPLIED', turnId: turn.id, rejection: null, at: clock.now() } as const,
      ]
      const checkpoint = acting(session.checkpoint, turn, stepId, calls)
      await store.commit(session, newCommit(session, { checkpoint, newCalls: calls, settled }), EXPIRED_MS)
      await store.deliver(session.facts.id, message(clock, 'next'), null)
      const next = await claimDue(store, session.facts.id, session.facts.agent)
      expect(next.checkpoint).toEqual(checkpoint)
      expect(next.revision).toBe(1)
      expect(next.deliveries.map((delivery) => delivery.kind === 'MESSAGE' && delivery.text)).toEqual(['next'])
      expect(next.calls).toEqual(new Map(calls.map((call) => [call.id, call])))
    })

    it('has no calls while no step acts', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      const [turn, stepId] = [openTurn(clock), ids.next('stp')]
      await store.commit(session, newCommit(session, { newCalls: [callRow(turn.id, stepId)] }), EXPIRED_MS)
      expect((await claimDue(store, session.facts.id, session.facts.agent)).calls).toEqual(new Map())
    })

    it('takes a parked session again at its wake time', async () => {
      const { store, clock } = subject()
      const [due, later] = [await claimNew(subject()), await claimNew(subject())]
      await store.commit(due, parkingCommit(due, clock, { park: { wakeAt: clock.now() - 1 } }), 1000)
      await store.commit(later, parkingCommit(later, clock, { park: { wakeAt: clock.now() + 60_000 } }), 1000)
      expect((await claimDue(store, due.facts.id, due.facts.agent)).status).toBe('IDLE')
      expect(await store.claim(later.facts.id, { owner: ids.next('wrk'), ttlMs: TTL_MS, agents: [later.facts.agent] })).toBe('not-due')
    })
  })
}
