import { describe, expect, test } from 'vitest'
import { createReading } from '../../server/observability/background-reading.js'
import { createFakeClock } from '../support/fake-clock.js'
import { silentLog } from '../support/silent-log.js'

function setUp(pause = { shortestMs: 1000, times: 100 }) {
  const clock = createFakeClock()
  const asked: { readonly resolve: (value: number) => void; readonly reject: (error: Error) => void }[] = []
  const read = () => new Promise<number>((resolve, reject) => asked.push({ resolve, reject }))
  const reading = createReading({ fault: 'not read', read, pause, clock, log: silentLog() })
  /** One read that takes `ms`. */
  const readFor = async (ms: number, value: number): Promise<void> => {
    void reading.get(0)
    await clock.advance(ms)
    asked.at(-1)?.resolve(value)
    await clock.advance(0)
  }
  return { clock, asked, reading, readFor }
}

describe('a reading', () => {
  test('has no answer before the first, and the newest one after it', async () => {
    const { reading, readFor, clock } = setUp()
    expect(await reading.get(0)).toBeNull()
    await readFor(0, 1)
    expect(await reading.get(0)).toBe(1)
    await clock.advance(1000)
    await readFor(0, 2)
    expect(await reading.get(0)).toBe(2)
  })

  test('asks one question at a time', async () => {
    const { reading, asked, clock } = setUp()
    await Promise.all([reading.get(0), reading.get(0)])
    await clock.advance(60_000)
    await reading.get(0)
    expect(asked).toHaveLength(1)
  })

  test('waits as many times longer as a read took: it takes its share of the time and no more', async () => {
    const { reading, asked, readFor, clock } = setUp()
    await readFor(300, 1)
    await clock.advance(29_999)
    await reading.get(0)
    expect(asked).toHaveLength(1)
    await clock.advance(1)
    await reading.get(0)
    expect(asked).toHaveLength(2)
  })

  test('after failures waits twice as long each time, up to an hour', async () => {
    const { reading, asked, clock } = setUp()
    for (const pauseMs of [2000, 4000, 8000]) {
      const before = asked.length
      void reading.get(0)
      asked.at(-1)?.reject(new Error('no'))
      await clock.advance(pauseMs - 1)
      await reading.get(0)
      expect(asked).toHaveLength(before + 1)
      await clock.advance(1)
    }
    for (let count = 0; count < 20; count += 1) {
      void reading.get(0)
      asked.at(-1)?.reject(new Error('no'))
      await clock.advance(3_600_000)
    }
    expect(asked).toHaveLength(23)
  })

  test('does not tell an answer that is too old to be true', async () => {
    const { reading, readFor, clock } = setUp()
    await readFor(0, 1)
    await clock.advance(3000)
    expect(await reading.get(0)).toBe(1)
    await clock.advance(1)
    expect(await reading.get(0)).toBeNull()
  })

  test('nor while the next ones fail, however long the pause gets', async () => {
    const { reading, asked, readFor, clock } = setUp()
    await readFor(0, 1)
    await clock.advance(1000)
    void reading.get(0)
    asked.at(-1)?.reject(new Error('no'))
    await clock.advance(2001)
    expect(await reading.get(0)).toBeNull()
  })

  test('whoever waits gets the new answer when it comes in time', async () => {
    const { reading, asked, clock } = setUp()
    const answer = reading.get(500)
    await clock.advance(200)
    asked.at(-1)?.resolve(7)
    expect(await answer).toBe(7)
    expect(clock.pending).toBe(0)
  })
})
