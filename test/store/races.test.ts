/**
 * The races on real PostgreSQL, each with the interleaving that its guard is for: a writer starts, waits for the head's lock that
 * another connection holds, and goes on after that one has committed something.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import type { OpenStore } from '../../server/store/open.js'
import { openBlockedConnection, type BlockedConnection } from '../support/blocked-connection.js'
import { openTestPostgres } from '../support/databases.js'
import {
  EXPIRED_MS,
  TTL_MS,
  cancel,
  chunk,
  claimDue,
  claimNew,
  ids,
  message,
  newCommit,
  newKey,
  newSession,
  parkingCommit,
  waitingEvent,
  type StoreUnderTest,
} from '../support/store-fixtures.js'

let opened: OpenStore & { readonly url: string }
let subject: StoreUnderTest
let blocker: BlockedConnection

beforeAll(async () => {
  opened = await openTestPostgres()
  subject = { ...opened, clock }
  blocker = await openBlockedConnection(opened.url)
})
afterEach(() => blocker.rollback())
afterAll(async () => {
  await blocker.close()
  await opened.close()
})

const BUMP_INBOX = `WITH head AS (
  UPDATE session_head SET inbox = inbox + 1, control = CASE WHEN $4 THEN inbox + 1 ELSE control END, wake_at = clock_timestamp()
  WHERE session_id = $1 RETURNING inbox)
INSERT INTO delivery (id, session_id, position, kind, by_id, by_kind, content, accepted_at)
SELECT $2, $1, inbox, $3::"DeliveryKind", 'alice', 'USER', json_build_object('kind', $3::text, 'text', 'raced', 'policy', 'STEER'), now() FROM head`

describe('R4 under the lock', () => {
  it('a delivery that comes while a parking commit waits refuses it (inbox)', async () => {
    const session = await claimNew(subject)
    await blocker.lock(session.facts.id)
    const parking = opened.store.commit(session, parkingCommit(session, clock, { events: [waitingEvent(clock)] }), TTL_MS)
    await blocker.waiters(1)
    await blocker.run(BUMP_INBOX, [session.facts.id, ids.next('dlv'), 'MESSAGE', false])
    await blocker.commit()
    expect(await parking).toMatchObject({ kind: 'moved', arrived: [{ kind: 'MESSAGE', text: 'raced', position: 2 }] })
    expect(await opened.store.readEvents(session.facts.id, 0, 10)).toEqual([])
  })

  it('a cancel that comes while a commit waits refuses it, a message does not (control)', async () => {
    for (const [kind, expected] of [
      ['CANCEL', 'moved'],
      ['MESSAGE', 'committed'],
    ] as const) {
      const session = await claimNew(subject)
      await blocker.lock(session.facts.id)
      const starting = opened.store.commit(session, newCommit(session, { guard: 'control' }), TTL_MS)
      await blocker.waiters(1)
      await blocker.run(BUMP_INBOX, [session.facts.id, ids.next('dlv'), kind, kind === 'CANCEL'])
      await blocker.commit()
      expect((await starting).kind).toBe(expected)
    }
  })

  it('a message that waits behind a parking commit finds the session IDLE and makes it RUNNING and due', async () => {
    const session = await claimNew(subject)
    const { id, agent } = session.facts
    await opened.prisma.session.update({ where: { id }, data: { status: 'RUNNING' } })
    await blocker.lock(id)
    const delivering = opened.store.deliver(id, message(clock, 'behind'), null)
    await blocker.waiters(1)
    await blocker.run(`UPDATE session SET status = 'IDLE' WHERE id = $1`, [id])
    await blocker.run(
      'UPDATE session_head SET revision = revision + 1, owner = NULL, lease_until = NULL, wake_at = NULL WHERE session_id = $1',
      [id],
    )
    await blocker.run('UPDATE checkpoint SET revision = revision + 1 WHERE session_id = $1', [id])
    await blocker.commit()
    expect(await delivering).toMatchObject({ kind: 'accepted', status: 'RUNNING' })
    const next = await claimDue(opened.store, id, agent)
    expect([next.status, next.revision, next.inbox]).toEqual(['RUNNING', 1, 2])
  })

  it('a message that waits behind the end is refused', async () => {
    const session = await claimNew(subject)
    await blocker.lock(session.facts.id)
    const delivering = opened.store.deliver(session.facts.id, message(clock), null)
    await blocker.waiters(1)
    await blocker.run('UPDATE session_head SET open = false WHERE session_id = $1', [session.facts.id])
    await blocker.commit()
    expect(await delivering).toEqual({ kind: 'ended' })
    expect(await opened.store.loadDeliveries(session.facts.id, 1)).toEqual([])
  })

  it('a repeated delivery that waits behind the first one and the end is told of the first', async () => {
    const session = await claimNew(subject)
    const { id } = session.facts
    const key = newKey()
    await blocker.lock(id)
    const repeated = opened.store.deliver(id, message(clock), key)
    await blocker.waiters(1)
    await blocker.run(
      `INSERT INTO idempotency (tenant, principal_id, principal_kind, key, hash, session_id, delivery_id, created_at)
       VALUES ('acme', 'alice', 'USER', $1, $2, $3, 'dlv_first', now())`,
      [key.key, key.hash, id],
    )
    await blocker.run('UPDATE session_head SET open = false WHERE session_id = $1', [id])
    await blocker.commit()
    expect(await repeated).toEqual({ kind: 'duplicate', sessionId: id, deliveryId: 'dlv_first' })
  })
})

describe('R2 under the lock', () => {
  it('a commit that waits behind a takeover is fenced', async () => {
    const session = await claimNew(subject)
    await blocker.lock(session.facts.id)
    const late = opened.store.commit(session, newCommit(session, { events: [waitingEvent(clock)] }), TTL_MS)
    await blocker.waiters(1)
    await takeOver(session.facts.id)
    expect(await late).toEqual({ kind: 'fenced' })
    expect(await opened.store.readEvents(session.facts.id, 0, 10)).toEqual([])
  })

  it('an append does not wait: the locked session is busy, then, after a takeover, fenced', async () => {
    const [locked, free] = [await claimNew(subject), await claimNew(subject)]
    const append = () =>
      opened.store.appendEvents(
        [locked, free].map(({ lease }) => ({ lease, events: [chunk(clock, 'x')] })),
        TTL_MS,
      )
    await blocker.lock(locked.facts.id)
    const first = await append()
    expect([first.get(locked.facts.id)?.kind, first.get(free.facts.id)?.kind]).toEqual(['busy', 'appended'])
    await takeOver(locked.facts.id)
    const second = await append()
    expect([second.get(locked.facts.id)?.kind, second.get(free.facts.id)?.kind]).toEqual(['fenced', 'appended'])
    expect(await opened.store.readEvents(locked.facts.id, 0, 10)).toEqual([])
    expect((await opened.store.readEvents(free.facts.id, 0, 10)).map(({ position }) => position)).toEqual([1, 2])
  })

  it('a renewal that waits behind a takeover has lost the lease', async () => {
    const session = await claimNew(subject)
    await blocker.lock(session.facts.id)
    const renewing = opened.store.renew([session.lease], TTL_MS)
    await blocker.waiters(1)
    await takeOver(session.facts.id)
    expect(await renewing).toEqual(new Map())
  })

  async function takeOver(sessionId: string): Promise<void> {
    await blocker.run("UPDATE session_head SET epoch = epoch + 1, owner = 'wrk_other' WHERE session_id = $1", [sessionId])
    await blocker.commit()
  }
})

describe('claim under the lock', () => {
  it('reads what was committed while it waited, not what stood when it began, though it became due only then', async () => {
    const made = newSession(clock, { firstDelivery: message(clock, 'first') })
    await opened.store.createSession(made)
    await blocker.lock(made.id)
    const claiming = claimDue(opened.store, made.id, made.agent)
    await blocker.waiters(1)
    await blocker.run(BUMP_INBOX, [made.id, ids.next('dlv'), 'MESSAGE', false])
    await blocker.run('UPDATE session_head SET revision = 1 WHERE session_id = $1', [made.id])
    await blocker.run(`UPDATE checkpoint SET revision = 1, body = jsonb_set(body, '{turns}', '7') WHERE session_id = $1`, [made.id])
    await blocker.run(`UPDATE session SET status = 'IDLE' WHERE id = $1`, [made.id])
    await blocker.commit()
    const session = await claiming
    expect(session.deliveries.map((delivery) => delivery.kind === 'MESSAGE' && delivery.text)).toEqual(['first', 'raced'])
    expect([session.inbox, session.revision, session.checkpoint.turns, session.status]).toEqual([2, 1, 7, 'IDLE'])
  })

  it('of two that wait for the same session one wins', async () => {
    const made = newSession(clock, { firstDelivery: message(clock) })
    await opened.store.createSession(made)
    await blocker.lock(made.id)
    const options = () => ({ owner: ids.next('wrk'), ttlMs: TTL_MS, agents: [made.agent] })
    const claims = [opened.store.claim(made.id, options()), opened.store.claim(made.id, options())]
    await blocker.waiters(2)
    await blocker.rollback()
    const outcomes = await Promise.all(claims)
    expect(outcomes.filter((outcome) => outcome !== 'not-due')).toHaveLength(1)
  })
})

describe('many writers at once', () => {
  it('renewals and releases of the same sessions in opposite orders do not end in a deadlock', async () => {
    const [one, two] = [await claimNew(subject), await claimNew(subject)]
    const leases = [one.lease, two.lease]
    await blocker.lock(one.facts.id)
    const work = [
      opened.store.renew(leases, TTL_MS),
      opened.store.renew(leases.toReversed(), TTL_MS),
      opened.store.release(leases.toReversed(), 'unused'),
    ]
    await blocker.waiters(3)
    await blocker.rollback()
    await expect(Promise.all(work)).resolves.toHaveLength(3)
  })

  it('appends and renewals of the same sessions in different orders never wait for each other in a circle', async () => {
    const sessions = await Promise.all(Array.from({ length: 12 }, () => claimNew(subject)))
    const leases = sessions.map((session) => session.lease)
    const rounds = Array.from({ length: 20 }, (_, round) => (round % 2 === 0 ? leases : leases.toReversed()))
    const work = rounds.flatMap((order) => [
      opened.store.appendEvents(
        order.map((lease) => ({ lease, events: [chunk(clock, 'x')] })),
        TTL_MS,
      ),
      opened.store.renew(order, TTL_MS),
    ])
    const outcomes = await Promise.all(work)
    expect(outcomes.filter((_, index) => index % 2 === 1).map((news) => news.size)).toEqual(Array(20).fill(12))
    const written = outcomes.flatMap((outcome) => [...outcome.values()]).filter((one) => 'kind' in one && one.kind === 'appended')
    const tails = await opened.store.readTails(sessions.map((session) => session.facts.id))
    expect([...tails.values()].reduce((sum, tail) => sum + tail.position, 0)).toBe(written.length)
  })

  it('every delivery, cancel and commit that race are all kept in one order', async () => {
    let session = await claimNew(subject, {}, EXPIRED_MS)
    const { id } = session.facts
    const deliveries = Array.from({ length: 30 }, (_, index) =>
      opened.store.deliver(id, index % 3 === 0 ? cancel(clock) : message(clock), null),
    )
    for (let revision = 0; revision < 10; revision += 1) {
      await opened.store.commit(session, newCommit(session, { events: [waitingEvent(clock)] }), TTL_MS)
      session = { ...session, revision: session.revision + 1 }
    }
    await Promise.all(deliveries)
    const kept = await opened.store.loadDeliveries(id, 1)
    expect(kept.map(({ position }) => position)).toEqual(Array.from({ length: 30 }, (_, index) => index + 2))
    expect(await opened.store.readTails([id])).toEqual(new Map([[id, { position: 10, ended: false }]]))
  })
})
