/** How long a session pauses after claims that led nowhere, as the database counts it: doubled each time, bounded, with jitter. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../server/clock.js'
import type { SessionId } from '../../server/ids.js'
import type { OpenStore } from '../../server/store/open.js'
import { openTestPostgres } from '../support/databases.js'
import { TTL_MS, claimDue, claimNew } from '../support/store-fixtures.js'

/** Claims without a commit, and the longest pause after them, milliseconds. */
const CEILINGS = [
  [1, 5000],
  [2, 10_000],
  [5, 60_000],
  [2_000_000_000, 60_000],
] as const
/** Two readings of the clock in one statement. */
const SLACK_MS = 50

describe('a session that led nowhere', () => {
  let opened: OpenStore
  beforeAll(async () => {
    opened = await openTestPostgres()
  })
  afterAll(() => opened.close())

  const setClaims = (id: SessionId, claims: number) =>
    opened.prisma.$executeRawUnsafe('UPDATE session_head SET claims = $2 WHERE session_id = $1', id, claims)
  const read = async (id: SessionId, sql: string): Promise<number> => {
    const rows: readonly { readonly ms: number }[] = await opened.prisma.$queryRawUnsafe(
      `SELECT (extract(epoch FROM ${sql}) * 1000)::float8 AS ms FROM session_head WHERE session_id = $1`,
      id,
    )
    return rows[0]?.ms ?? Number.NaN
  }
  const make = () => claimNew({ ...opened, clock: systemClock })

  it.each(CEILINGS)('a fault after %i claims pauses for half of %i ms to all of it', async (claims, ceilingMs) => {
    const { facts, lease } = await make()
    await setClaims(facts.id, claims)
    const before = await read(facts.id, 'clock_timestamp()')
    await opened.store.release([lease], 'fault')
    const pauseMs = (await read(facts.id, 'wake_at')) - before
    const after = await read(facts.id, 'clock_timestamp()')
    expect(pauseMs).toBeGreaterThanOrEqual(ceilingMs / 2)
    expect(pauseMs).toBeLessThanOrEqual(ceilingMs + (after - before))
  })

  it.each(CEILINGS)('a claim after %i others is due half of %i ms to all of it after its lease has run out', async (claims, ceilingMs) => {
    const { facts, lease } = await make()
    await opened.store.release([lease], 'unused')
    await setClaims(facts.id, claims)
    await claimDue(opened.store, facts.id, facts.agent, TTL_MS)
    const pauseMs = await read(facts.id, '(wake_at - lease_until)')
    expect(pauseMs).toBeGreaterThanOrEqual(ceilingMs / 2 - SLACK_MS)
    expect(pauseMs).toBeLessThanOrEqual(ceilingMs + SLACK_MS)
  })

  it('a first claim is due when its lease has run out', async () => {
    const { facts } = await make()
    expect(await read(facts.id, '(wake_at - lease_until)')).toBeLessThan(SLACK_MS)
  })

  it('sessions that one process dropped together do not come back together', async () => {
    const sessions = await Promise.all([make(), make(), make(), make()])
    await opened.store.release(
      sessions.map(({ lease }) => lease),
      'fault',
    )
    const due = await Promise.all(sessions.map(({ facts }) => read(facts.id, 'wake_at')))
    expect(new Set(due.map((ms) => Math.round(ms / 10))).size).toBeGreaterThan(1)
  })
})
