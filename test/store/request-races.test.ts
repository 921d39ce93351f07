/** Answers under the lock of their session, on real PostgreSQL: whoever waits for the lock sees what was committed meanwhile. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import type { Request } from '../../server/session/requests.js'
import type { Session } from '../../server/session/session.js'
import type { OpenStore } from '../../server/store/open.js'
import { openBlockedConnection, type BlockedConnection } from '../support/blocked-connection.js'
import { openTestPostgres } from '../support/databases.js'
import { BOB, TTL_MS, answersTo, claimNew, newCommit, newRequest, openTurn } from '../support/store-fixtures.js'

let opened: OpenStore & { readonly url: string }
let blocker: BlockedConnection

beforeAll(async () => {
  opened = await openTestPostgres()
  blocker = await openBlockedConnection(opened.url)
})
afterAll(async () => {
  await blocker.close()
  await opened.close()
})

async function asking(count = 1): Promise<{ readonly session: Session; readonly requests: readonly Request[] }> {
  const claimed = await claimNew({ ...opened, clock })
  const requests = Array.from({ length: count }, () => newRequest(clock, openTurn(clock)))
  await opened.store.commit(claimed, newCommit(claimed, { newRequests: requests }), TTL_MS)
  return { session: { ...claimed, revision: claimed.revision + 1, requests }, requests }
}

function expireAll({ requests }: Session, session: Session) {
  const settledRequests = requests.map(({ id }) => ({ id, status: 'EXPIRED', answer: null, at: clock.now() }) as const)
  return newCommit(session, { guard: 'inbox', settledRequests })
}

it('an answer that waits behind the commit that settles its request is told so', async () => {
  const { session, requests } = await asking()
  await blocker.lock(session.facts.id)
  const answering = opened.store.deliver(session.facts.id, answersTo(clock, requests), null)
  await blocker.waiters(1)
  await blocker.run("UPDATE request SET status = 'EXPIRED' WHERE id = $1", [requests[0]?.id])
  await blocker.commit()
  expect(await answering).toEqual({ kind: 'not-pending', requests: [requests[0]?.id] })
  expect(await opened.store.loadDeliveries(session.facts.id, 1)).toEqual([])
})

it('a commit that settles a request behind an answer to it writes nothing, and sees the answer', async () => {
  const { session, requests } = await asking()
  await blocker.lock(session.facts.id)
  const answering = opened.store.deliver(session.facts.id, answersTo(clock, requests), null)
  await blocker.waiters(1)
  const settling = opened.store.commit(session, expireAll(session, session), TTL_MS)
  await blocker.waiters(2)
  await blocker.commit()
  expect(await answering).toMatchObject({ kind: 'accepted' })
  expect(await settling).toMatchObject({ kind: 'moved', arrived: [{ kind: 'ANSWERS' }] })
})

it('of two answers that wait side by side one is accepted, and the other changes nothing', async () => {
  for (let round = 0; round < 20; round += 1) {
    const { session, requests } = await asking(3)
    await blocker.lock(session.facts.id)
    const racing = [answersTo(clock, requests), answersTo(clock, [...requests].reverse(), BOB)].map((one) =>
      opened.store.deliver(session.facts.id, one, null),
    )
    await blocker.waiters(2)
    await blocker.commit()
    const kinds = (await Promise.all(racing)).map(({ kind }) => kind).sort()
    expect(kinds).toEqual(['accepted', 'not-pending'])
    expect(await opened.store.loadDeliveries(session.facts.id, 1)).toHaveLength(1)
  }
})

it('answers and commits that race never stand in each other’s way for ever', async () => {
  const worlds = await Promise.all(Array.from({ length: 8 }, () => asking(4)))
  const outcomes = await Promise.all(
    worlds.flatMap(({ session, requests }) => [
      opened.store.deliver(session.facts.id, answersTo(clock, requests), null),
      opened.store.deliver(session.facts.id, answersTo(clock, [...requests].reverse(), BOB), null),
      opened.store.commit(session, expireAll(session, session), TTL_MS),
    ]),
  )
  for (const [index] of worlds.entries()) {
    const kinds = outcomes.slice(index * 3, index * 3 + 3).map(({ kind }) => kind)
    expect([
      ['accepted', 'not-pending', 'moved'],
      ['not-pending', 'accepted', 'moved'],
      ['not-pending', 'not-pending', 'committed'],
    ]).toContainEqual(kinds)
  }
})
