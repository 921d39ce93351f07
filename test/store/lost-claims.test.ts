/** A claim waits for no disk: a database server that crashes right after it forgets it, and hands its epoch out again (R2). */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import type { OpenStore } from '../../server/store/open.js'
import { openTestPostgres } from '../support/databases.js'
import { TTL_MS, chunk, claimNew, ids, parkingCommit } from '../support/store-fixtures.js'

let opened: OpenStore

beforeAll(async () => {
  opened = await openTestPostgres()
})
afterAll(() => opened.close())

it('a claim that the database lost in a crash is told from the one that got its epoch', async () => {
  const { store, prisma } = opened
  const lost = await claimNew({ ...opened, clock })
  const { id, agent } = lost.facts
  await prisma.sessionHead.update({ where: { sessionId: id }, data: { epoch: { decrement: 1 }, claims: 0, owner: null, leaseUntil: null } })
  const second = await store.claim(id, { owner: ids.next('wrk'), ttlMs: TTL_MS, agents: [agent] })
  if (second === 'not-due') throw new Error('it is due')
  expect(second.lease.epoch).toBe(lost.lease.epoch)
  expect(await store.appendEvents([{ lease: lost.lease, events: [chunk(clock, 'lost')] }], TTL_MS)).toEqual(
    new Map([[id, { kind: 'fenced' }]]),
  )
  expect(await store.commit(second, parkingCommit(second, clock), TTL_MS)).toMatchObject({ kind: 'committed' })
  expect(await store.commit(lost, parkingCommit(lost, clock), TTL_MS)).toEqual({ kind: 'fenced' })
  expect(await store.renew([lost.lease], TTL_MS)).toEqual(new Map())
})
