import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Database } from '../../server/store/database.js'
import { createDatabaseClock } from '../../server/store/database-clock.js'
import { createFakeClock } from '../support/fake-clock.js'

const DATABASE_TIME = Date.UTC(2030, 0, 1)
const INTERVAL_MS = 30_000

describe('the clock of the database', () => {
  let clock: ReturnType<typeof createFakeClock>
  let lines: string[]
  /** How far the database is ahead of this machine; null: it does not answer. */
  let aheadMs: number | null
  const database: Database = {
    kind: 'postgres',
    query: async <Row>() => {
      if (aheadMs === null) throw new Error('no answer')
      return [{ now: clock.now() + aheadMs }] as readonly unknown[] as readonly Row[]
    },
    close: async () => undefined,
  }

  beforeEach(() => {
    clock = createFakeClock(DATABASE_TIME)
    lines = []
    aheadMs = 0
  })
  const open = () => createDatabaseClock(database, { clock, log: (line) => lines.push(line) })
  let opened: Awaited<ReturnType<typeof open>>
  afterEach(() => opened.stop())

  test('one that is minutes off is corrected, and said to be', async () => {
    aheadMs = -600_000
    opened = await open()
    expect(opened.now()).toBe(clock.now() - 600_000)
    expect(lines).toEqual(["the clock of this machine is 600.0 s ahead of the database's; times are the database's"])
  })

  test('one that is close is left alone', async () => {
    aheadMs = 200
    opened = await open()
    expect(opened.now()).toBe(clock.now())
    expect(lines).toEqual([])
  })

  test('one that is set while the process runs is noticed, and when it is set right too', async () => {
    opened = await open()
    aheadMs = 5000
    await clock.advance(INTERVAL_MS)
    expect(opened.now()).toBe(clock.now() + 5000)
    aheadMs = 1
    await clock.advance(INTERVAL_MS)
    expect(opened.now()).toBe(clock.now())
    expect(lines.at(-1)).toBe("the clock of this machine agrees with the database's; times are the database's")
  })

  test('a database that does not answer is asked again', async () => {
    aheadMs = null
    opened = await open()
    expect(lines).toEqual(['the clocks of this machine and of the database could not be compared: no answer'])
    aheadMs = 9000
    await clock.advance(INTERVAL_MS)
    expect(opened.now()).toBe(clock.now() + 9000)
  })
})
