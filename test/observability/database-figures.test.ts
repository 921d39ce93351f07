/** What the figures ask of a database, on both of them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import type { OpenStore } from '../../server/store/open.js'
import { countSessions } from '../../server/store/statements/count-sessions.js'
import { ping } from '../../server/store/statements/ping.js'
import { readQueue } from '../../server/store/statements/read-queue.js'
import { openTestEmbedded, openTestPostgres } from '../support/databases.js'
import {
  EXPIRED_MS,
  TTL_MS,
  claimNew,
  endingCommit,
  message,
  newSession,
  parkingCommit,
  type StoreUnderTest,
} from '../support/store-fixtures.js'

describe.each([
  { kind: 'embedded', open: openTestEmbedded },
  { kind: 'postgres', open: openTestPostgres },
])('on $kind', ({ open }) => {
  let opened: OpenStore
  let subject: StoreUnderTest
  beforeAll(async () => {
    opened = await open()
    subject = { store: opened.store, clock, close: () => Promise.resolve() }
  })
  afterAll(() => opened.close())

  async function count() {
    const { statuses, driven } = await countSessions(opened.prisma)
    return { ...Object.fromEntries(Object.entries(statuses).filter(([, sessions]) => sessions > 0)), driven }
  }

  test('ping answers with the database’s time', async () => {
    const { now, standby } = await ping(opened.database)
    expect(standby).toBe(false)
    expect(Math.abs(now - Date.now())).toBeLessThan(60_000)
  })

  test('sessions are counted by status, and those that are driven', async () => {
    const { store } = subject
    expect(await count()).toEqual({ driven: 0 })
    await store.createSession(newSession(clock))
    await claimNew(subject)
    const lost = await claimNew(subject, {}, EXPIRED_MS)
    const parked = await claimNew(subject)
    await store.commit(parked, parkingCommit(parked, clock), TTL_MS)
    const ended = await claimNew(subject)
    await store.commit(ended, endingCommit(ended, clock), TTL_MS)
    expect(lost.facts.id).not.toBe(parked.facts.id)
    expect(await count()).toEqual({ CREATED: 1, RUNNING: 2, IDLE: 1, COMPLETED: 1, driven: 1 })
  })

  test('the settings of a count end with it', async () => {
    await countSessions(opened.prisma)
    const rows = await opened.prisma.$queryRawUnsafe<readonly { setting: string }[]>(
      "SELECT current_setting('enable_seqscan') || current_setting('statement_timeout') AS setting",
    )
    expect(rows).toEqual([{ setting: 'off0' }])
  })

  test('the queue has what is due and driven by nobody, of the agents that are asked for', async () => {
    const { store } = subject
    const agent = 'queued'
    expect(await readQueue(opened.database, [agent])).toEqual({ due: 0, oldestMs: 0 })
    await store.createSession(newSession(clock, { agent, firstDelivery: message(clock) }))
    await store.createSession(newSession(clock, { agent, firstDelivery: message(clock) }))
    await store.createSession(newSession(clock, { agent: 'another', firstDelivery: message(clock) }))
    await store.createSession(newSession(clock, { agent }))
    await claimNew(subject, { agent })
    const { due, oldestMs } = await readQueue(opened.database, [agent])
    expect(due).toBe(2)
    expect(oldestMs).toBeGreaterThan(0)
  })
})
