/** R2: a connection that breaks after the request was sent. What became of it is unknown, and repeating it tells. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import { OutcomeUnknown } from '../../server/errors.js'
import { openStore, type OpenStore } from '../../server/store/open.js'
import { openBlockedConnection, type BlockedConnection } from '../support/blocked-connection.js'
import { MIGRATIONS, createTestDatabase, type TestDatabase } from '../support/databases.js'
import { startLossyProxy, type LossyProxy } from '../support/lossy-proxy.js'
import {
  TTL_MS,
  claimNew,
  endingCommit,
  message,
  newCommit,
  newKey,
  newSession,
  parkingCommit,
  waitingEvent,
  type StoreUnderTest,
} from '../support/store-fixtures.js'

let database: TestDatabase
let proxy: LossyProxy
let opened: OpenStore
let subject: StoreUnderTest
let blocker: BlockedConnection
/** Calls back with what the store says next. */
let onSaid: (text: string) => void = () => undefined

beforeAll(async () => {
  database = await createTestDatabase()
  proxy = await startLossyProxy(database.url)
  opened = await openStore({ databaseUrl: proxy.url, dataDir: '', migrationsDir: MIGRATIONS, clock, log: (text) => onSaid(text) })
  subject = { ...opened, clock }
  blocker = await openBlockedConnection(database.url)
})
afterAll(async () => {
  await blocker.close()
  await opened.close()
  await proxy.close()
  await database.drop()
})

describe('a lost reply', () => {
  it('of a commit: the repeated commit tells that it was applied, with the same events, once', async () => {
    for (const toCommit of [newCommit, parkingCommit, endingCommit]) {
      const session = await claimNew(subject)
      const commit = { ...toCommit(session, clock), events: [waitingEvent(clock), waitingEvent(clock)] }
      proxy.loseNextReply()
      await expect(opened.store.commit(session, commit, TTL_MS)).rejects.toThrow(OutcomeUnknown)
      const outcome = await opened.store.commit(session, commit, TTL_MS)
      const log = await opened.store.readEvents(session.facts.id, 0, 10)
      expect(outcome).toEqual({ kind: 'committed', events: log })
      expect(log).toHaveLength(2)
    }
  })

  it('of a delivery or a creation: the same key tells of the first', async () => {
    const key = newKey()
    const made = newSession(clock, { idempotency: key })
    proxy.loseNextReply()
    await expect(opened.store.createSession(made)).rejects.toThrow(OutcomeUnknown)
    expect(await opened.store.createSession(newSession(clock, { idempotency: key }))).toMatchObject({
      kind: 'duplicate',
      sessionId: made.id,
    })
    const [delivery, again] = [message(clock), newKey()]
    proxy.loseNextReply()
    await expect(opened.store.deliver(made.id, delivery, again)).rejects.toThrow(OutcomeUnknown)
    expect(await opened.store.deliver(made.id, message(clock), again)).toMatchObject({ kind: 'duplicate', deliveryId: delivery.id })
    expect(await opened.store.loadDeliveries(made.id, 0)).toHaveLength(1)
  })
})

describe('a broken connection', () => {
  it('in the middle of a commit leaves the outcome unknown; the server had rolled it back, and the repeated commit applies it', async () => {
    const session = await claimNew(subject)
    const commit = newCommit(session, { events: [waitingEvent(clock)] })
    await blocker.lock(session.facts.id)
    const first = expect(opened.store.commit(session, commit, TTL_MS)).rejects.toThrow(OutcomeUnknown)
    await blocker.waiters(1)
    await blocker.terminateWaiters()
    await first
    await blocker.rollback()
    expect(await opened.store.commit(session, commit, TTL_MS)).toMatchObject({ kind: 'committed', events: [{ position: 1 }] })
  })

  it('that was idle is replaced, and said; while the server is away every call says so', async () => {
    const session = await claimNew(subject)
    const said = new Promise<string>((resolve) => {
      onSaid = resolve
    })
    proxy.shut()
    expect(await said).toMatch(/^a connection to the database was lost and is replaced/)
    await expect(opened.store.renew([session.lease], TTL_MS)).rejects.toThrow(OutcomeUnknown)
    proxy.open()
    expect((await opened.store.renew([session.lease], TTL_MS)).size).toBe(1)
  })

  it('that falls silent costs one reply timeout, whatever the number of its neighbours: the next try goes to a new one', async () => {
    const own = await startLossyProxy(database.url)
    const quick = await openStore({ databaseUrl: own.url, dataDir: '', migrationsDir: MIGRATIONS, clock, replyTimeoutMs: 200 })
    try {
      const session = await claimNew(subject)
      await Promise.all(Array.from({ length: 10 }, () => quick.store.renew([session.lease], TTL_MS)))
      own.silence()
      await expect(quick.store.renew([session.lease], TTL_MS)).rejects.toThrow(OutcomeUnknown)
      const commit = newCommit(session, { events: [waitingEvent(clock)] })
      expect(await quick.store.commit(session, commit, TTL_MS)).toMatchObject({ kind: 'committed' })
    } finally {
      await quick.close()
      await own.close()
    }
  })

  it('is not blamed for a statement that is wrong: that is a fault', async () => {
    const made = newSession(clock)
    await opened.store.createSession(made)
    const again = opened.store.createSession(made)
    await expect(again).rejects.toMatchObject({ code: '23505' })
    await expect(again).rejects.not.toBeInstanceOf(OutcomeUnknown)
  })
})
