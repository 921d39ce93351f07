/** Idempotency keys are kept for seven days, and at least the newest 1,024 of a session. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import type { OpenStore } from '../../server/store/open.js'
import { openBlockedConnection, type BlockedConnection } from '../support/blocked-connection.js'
import { openTestPostgres } from '../support/databases.js'
import { ALICE, message, newKey, newSession } from '../support/store-fixtures.js'

let opened: OpenStore & { readonly url: string }
let other: BlockedConnection

beforeAll(async () => {
  opened = await openTestPostgres()
  other = await openBlockedConnection(opened.url)
})
afterAll(async () => {
  await other.close()
  await opened.close()
})

/** As if they had been used so many days ago, the first one a minute before the second and so on. */
async function useKeys(sessionId: string, prefix: string, count: number, daysAgo: number): Promise<void> {
  await other.run(
    `INSERT INTO idempotency (tenant, principal_id, principal_kind, key, hash, session_id, created_at)
    SELECT 'acme', 'alice', 'USER', $2 || n, 'asked', $1, now() - $4 * interval '1 day' + n * interval '1 millisecond' FROM generate_series(1, $3) n`,
    [sessionId, prefix, count, daysAgo],
  )
}

it('forgets what is older than both, when keys are made', async () => {
  const { store } = opened
  const session = newSession(clock)
  await store.createSession(session)
  await useKeys(session.id, 'old-', 30, 8)
  await useKeys(session.id, 'kept-', 700, 8)
  await useKeys(session.id, 'new-', 100, 1)
  const isKnown = async (key: string): Promise<boolean> => (await store.findKey({ by: ALICE, key, hash: 'asked' })) !== null
  for (let sent = 1; sent <= 255; sent += 1) await store.deliver(session.id, message(clock), newKey())
  expect(await isKnown('old-1')).toBe(true)
  await store.deliver(session.id, message(clock), newKey())
  // 256 of today, 100 of yesterday, and the newest 668 of the 730 that are older.
  const known = await Promise.all(['old-1', 'old-30', 'kept-32', 'kept-33', 'kept-700', 'new-1'].map(isKnown))
  expect(known).toEqual([false, false, false, true, true, true])
})

it('keeps all of a week, however many', async () => {
  const { store } = opened
  const session = newSession(clock)
  await store.createSession(session)
  await useKeys(session.id, 'week-', 1500, 6)
  for (let sent = 1; sent <= 256; sent += 1) await store.deliver(session.id, message(clock), newKey())
  expect(await store.findKey({ by: ALICE, key: 'week-1', hash: 'asked' })).not.toBeNull()
})
