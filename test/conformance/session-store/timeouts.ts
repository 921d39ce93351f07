import { describe, expect, it } from 'vitest'
import {
  TTL_MS,
  claimDue,
  closedTurn,
  endingCommit,
  ids,
  message,
  newSession,
  openTurn,
  parkingCommit,
  statusChange,
  turnRow,
} from '../../support/store-fixtures.js'
import type { Session } from '../../../server/session/session.js'
import type { Subject } from '../session-store.js'

const IDLE_MS = 3600_000
/** What two clocks, or two roundings, may differ by. */
const SLACK_MS = 1000

export function testTimeouts(subject: Subject): void {
  async function open(idleTimeoutMs: number | null): Promise<Session> {
    const { store, clock } = subject()
    const made = newSession(clock, { idleTimeoutMs, firstDelivery: message(clock) })
    await store.createSession(made)
    return claimDue(store, made.id, made.agent)
  }
  async function reopen({ facts: { id, agent } }: Session): Promise<Session> {
    await subject().store.deliver(id, message(subject().clock), null)
    return claimDue(subject().store, id, agent)
  }

  describe('the idle window', () => {
    it('counts from the newest delivery', async () => {
      const { store, clock } = subject()
      const session = await open(IDLE_MS)
      expect(session.facts.idleTimeoutMs).toBe(IDLE_MS)
      expect(Math.abs((session.expiresAt ?? 0) - clock.now() - IDLE_MS)).toBeLessThan(SLACK_MS)
      await store.commit(session, parkingCommit(session, clock), TTL_MS)
      const later = { ...message(clock), acceptedAt: clock.now() + 60_000 }
      await store.deliver(session.facts.id, later, null)
      expect((await claimDue(store, session.facts.id, session.facts.agent)).expiresAt).toBe(Math.floor(later.acceptedAt + IDLE_MS))
    })

    it('and from the end of a turn, whichever is later', async () => {
      const { store, clock } = subject()
      const session = await open(IDLE_MS)
      const turn = openTurn(clock)
      const expiresAt = Math.floor(clock.now()) + IDLE_MS + 60_000
      const ends = {
        openedTurn: turnRow(turn),
        closedTurn: closedTurn(turn.id, clock),
        session: { ...statusChange('IDLE', clock), expiresAt },
      }
      await store.commit(session, parkingCommit(session, clock, ends), TTL_MS)
      expect((await reopen(session)).expiresAt).toBe(expiresAt)
    })

    it('of a session without one never ends', async () => {
      const { store, clock } = subject()
      const session = await open(null)
      expect([session.facts.idleTimeoutMs, session.expiresAt]).toEqual([null, null])
      await store.commit(session, parkingCommit(session, clock), TTL_MS)
      expect((await reopen(session)).expiresAt).toBeNull()
    })

    it('makes a session that nobody used due when it is over, and none before', async () => {
      const { store, clock } = subject()
      const [soon, late] = [newSession(clock, { idleTimeoutMs: 1 }), newSession(clock, { idleTimeoutMs: IDLE_MS })]
      await store.createSession(soon)
      await store.createSession(late)
      const agents = [soon.agent, late.agent]
      await expect.poll(() => store.sweep({ agents, limit: 10 })).toEqual([soon.id])
      expect(await store.claim(late.id, { owner: ids.next('wrk'), ttlMs: TTL_MS, agents })).toBe('not-due')
      const session = await claimDue(store, soon.id, soon.agent)
      expect(await store.commit(session, endingCommit(session, clock), TTL_MS)).toMatchObject({ kind: 'committed' })
    })
  })
}
