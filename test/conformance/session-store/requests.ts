import { describe, expect, it } from 'vitest'
import { storedId } from '../../../server/ids.js'
import { NO_ANSWER, type Request } from '../../../server/session/requests.js'
import type { Session } from '../../../server/session/session.js'
import {
  ALICE,
  BOB,
  TTL_MS,
  claimDue,
  claimNew,
  closedTurn,
  newCommit,
  answersTo,
  newKey,
  newRequest,
  openTurn,
} from '../../support/store-fixtures.js'
import type { StoreUnderTest } from '../../support/store-fixtures.js'
import type { Subject } from '../session-store.js'

/** Driven, with these requests open. */
async function asking(under: StoreUnderTest, requests: readonly Request[]): Promise<Session> {
  const session = await claimNew(under)
  const outcome = await under.store.commit(session, newCommit(session, { newRequests: requests }), TTL_MS)
  if (outcome.kind !== 'committed') throw new Error(`the requests were not opened: ${outcome.kind}`)
  return { ...session, revision: session.revision + 1, requests }
}

async function claimAgain({ store }: StoreUnderTest, { facts, lease }: Session): Promise<Session> {
  await store.release([lease], 'unused')
  return claimDue(store, facts.id, facts.agent)
}

function newRequests({ clock }: StoreUnderTest, count: number): readonly Request[] {
  const turn = openTurn(clock)
  return Array.from({ length: count }, () => newRequest(clock, turn))
}

export function testRequests(subject: Subject): void {
  describe('requests', () => {
    it('are read by a claim as they were opened, in their order, until they are settled', async () => {
      const under = subject()
      const { store, clock } = under
      const turn = openTurn(clock)
      const requests = [
        newRequest(clock, turn),
        newRequest(clock, turn, {
          kind: 'QUESTION',
          allowsText: true,
          reviewers: ['role:manager', 'principal:x'],
          expiresAt: clock.now() + 60_000,
        }),
        newRequest(clock, turn, {
          kind: 'LIMIT',
          callId: null,
          inputHash: null,
          served: BOB,
          onExpire: 'APPROVE',
          grants: true,
          url: 'https://x',
        }),
      ]
      const session = await claimAgain(under, await asking(under, requests))
      expect(session.requests).toEqual(requests)
      const settledRequests = [
        {
          id: requests[0]?.id ?? newRequest(clock, turn).id,
          status: 'ANSWERED',
          answer: { ...NO_ANSWER, decision: 'DENY', reason: 'no', by: BOB, at: 1 },
          at: clock.now(),
        },
      ] as const
      await store.commit(session, newCommit(session, { settledRequests }), TTL_MS)
      expect((await claimAgain(under, session)).requests).toEqual(requests.slice(1))
    })

    it('are held by the first answer that is accepted', async () => {
      const under = subject()
      const requests = newRequests(under, 1)
      const { facts } = await asking(under, requests)
      const first = await under.store.deliver(facts.id, answersTo(under.clock, requests), null)
      expect(first).toMatchObject({ kind: 'accepted', position: 2 })
      const second = await under.store.deliver(facts.id, answersTo(under.clock, requests, BOB), null)
      expect(second).toEqual({ kind: 'not-pending', requests: [requests[0]?.id] })
      expect(await under.store.loadDeliveries(facts.id, 1)).toHaveLength(1)
    })

    it('are answered together or not at all', async () => {
      const under = subject()
      const [one, two, three] = newRequests(under, 3)
      if (one === undefined || two === undefined || three === undefined) throw new Error('there are three')
      const { facts } = await asking(under, [one, two, three])
      await under.store.deliver(facts.id, answersTo(under.clock, [two]), null)
      expect(await under.store.deliver(facts.id, answersTo(under.clock, [one, two]), null)).toEqual({
        kind: 'not-pending',
        requests: [two.id],
      })
      expect(await under.store.deliver(facts.id, answersTo(under.clock, [one, three]), null)).toMatchObject({ kind: 'accepted' })
    })

    it('that expired take no answer, also before anybody has settled them', async () => {
      const under = subject()
      const request = newRequest(under.clock, openTurn(under.clock), { expiresAt: under.clock.now() - 1 })
      const { facts } = await asking(under, [request])
      expect(await under.store.deliver(facts.id, answersTo(under.clock, [request]), null)).toEqual({
        kind: 'not-pending',
        requests: [request.id],
      })
    })

    it('of another session are not found, and nothing is accepted', async () => {
      const under = subject()
      const [mine, other] = [newRequests(under, 1), newRequests(under, 1)]
      const { facts } = await asking(under, mine)
      await asking(under, other)
      expect(await under.store.deliver(facts.id, answersTo(under.clock, [...mine, ...other]), null)).toEqual({ kind: 'not-found' })
      expect(await under.store.deliver(storedId('ses', 'ses_nowhere'), answersTo(under.clock, mine), null)).toEqual({ kind: 'not-found' })
      expect(await under.store.deliver(facts.id, answersTo(under.clock, mine), null)).toMatchObject({ kind: 'accepted' })
    })

    it('give the first answer again to its key, whatever became of the request', async () => {
      const under = subject()
      const requests = newRequests(under, 1)
      const { facts } = await asking(under, requests)
      const key = newKey()
      const first = answersTo(under.clock, requests)
      await under.store.deliver(facts.id, first, key)
      expect(await under.store.deliver(facts.id, answersTo(under.clock, requests), key)).toEqual({
        kind: 'duplicate',
        sessionId: facts.id,
        deliveryId: first.id,
      })
    })
  })

  describe('a commit', () => {
    it('that closes a turn and leaves a request of it open is refused, and writes nothing', async () => {
      const under = subject()
      const { store, clock } = under
      const session = await asking(under, newRequests(under, 1))
      const closing = newCommit(session, { closedTurn: closedTurn(session.requests[0]?.turnId ?? openTurn(clock).id, clock) })
      await expect(store.commit(session, closing, TTL_MS)).rejects.toThrow('closes the turn and leaves req_')
      expect((await claimAgain(under, session)).requests).toEqual(session.requests)
    })

    it('that waits for an answer to a request that is not open is refused', async () => {
      const under = subject()
      const { store, clock } = under
      const session = await asking(under, newRequests(under, 1))
      const request = newRequest(clock, openTurn(clock)).id
      const held = { ...session.checkpoint, phase: { kind: 'held', turn: openTurn(clock), request } } as const
      await expect(store.commit(session, newCommit(session, { checkpoint: held }), TTL_MS)).rejects.toThrow('waits for the answer to req_')
    })
  })

  describe('grants', () => {
    it('are of one tool, to one person, in one session', async () => {
      const under = subject()
      const { store, clock } = under
      const requests = newRequests(under, 1)
      const session = await asking(under, requests)
      const { id } = session.facts
      const [request] = requests
      if (request === undefined) throw new Error('there is one')
      const grant = { tool: 'refund', to: ALICE, request: request.id, at: clock.now() }
      const settledRequests = [{ id: request.id, status: 'ANSWERED', answer: null, at: clock.now() }] as const
      await store.commit(session, newCommit(session, { settledRequests, grants: [grant] }), TTL_MS)
      expect(await store.hasGrant(id, 'refund', ALICE)).toBe(true)
      expect(await store.hasGrant(id, 'refund', BOB)).toBe(false)
      expect(await store.hasGrant(id, 'refund', { ...ALICE, kind: 'SERVICE' })).toBe(false)
      expect(await store.hasGrant(id, 'other', ALICE)).toBe(false)
      expect(await store.hasGrant((await claimNew(under)).facts.id, 'refund', ALICE)).toBe(false)
    })
  })
}
