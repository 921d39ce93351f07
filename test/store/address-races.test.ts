/** Addresses under the lock of their session, on real PostgreSQL: a statement that waits for it does not see what was written meanwhile. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import type { OpenStore } from '../../server/store/open.js'
import { openBlockedConnection, type BlockedConnection } from '../support/blocked-connection.js'
import { openTestPostgres } from '../support/databases.js'
import { ALICE, TTL_MS, claimNew, endingCommit, ids } from '../support/store-fixtures.js'

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

it('an end that waits behind a claim releases that address too', async () => {
  const { store } = opened
  const session = await claimNew({ ...opened, clock })
  const { id } = session.facts
  const address = `test:${ids.next('req')}`
  await blocker.lock(id)
  const ending = store.commit(session, endingCommit(session, clock), TTL_MS)
  await blocker.waiters(1)
  await blocker.run("INSERT INTO address (tenant, address, session_id, claimed_at) VALUES ('acme', $1, $2, now())", [address, id])
  await blocker.commit()
  expect(await ending).toMatchObject({ kind: 'committed' })
  expect(await store.findAddress(ALICE.tenant, address)).toBeNull()
})

it('a claim that waits behind the end gets nothing', async () => {
  const { store } = opened
  const session = await claimNew({ ...opened, clock })
  const { id } = session.facts
  const address = `test:${ids.next('req')}`
  await blocker.lock(id)
  const claiming = store.claimAddress({ sessionId: id, address, claimedAt: clock.now(), most: 3 })
  await blocker.waiters(1)
  await blocker.run('UPDATE session_head SET open = false WHERE session_id = $1', [id])
  await blocker.commit()
  expect(await claiming).toEqual({ kind: 'ended' })
  expect(await store.findAddress(ALICE.tenant, address)).toBeNull()
})
