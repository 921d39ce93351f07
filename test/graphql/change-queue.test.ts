import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createChangeQueue } from '../../server/graphql/change-queue.js'
import { createFakeClock, settled } from '../support/fake-clock.js'

const never = new AbortController().signal

describe('a queue of changes', () => {
  it('hands out a change at once, and a second one of the same thing only after the interval', async () => {
    const clock = createFakeClock()
    const queue = createChangeQueue<string>(clock, 1000)
    queue.mark('a')
    expect(await queue.take(10, never)).toEqual(['a'])
    queue.mark('a')
    queue.mark('b')
    expect(await queue.take(10, never)).toEqual(['b'])
    const later = queue.take(10, never)
    await clock.advance(999)
    const early = await Promise.race([later, settled().then(() => 'nothing yet')])
    expect(early).toBe('nothing yet')
    await clock.advance(1)
    expect(await later).toEqual(['a'])
  })

  it('hands out a burst once, and no more at a time than it is asked for', async () => {
    const clock = createFakeClock()
    const queue = createChangeQueue<number>(clock, 1000)
    for (const id of [1, 2, 3, 1, 2, 3]) queue.mark(id)
    expect(await queue.take(2, never)).toEqual([1, 2])
    expect(await queue.take(2, never)).toEqual([3])
  })

  it('stops waiting when it is told to, and leaves no timer', async () => {
    const clock = createFakeClock()
    const queue = createChangeQueue<string>(clock, 1000)
    queue.mark('a')
    await queue.take(1, never)
    queue.mark('a')
    const left = new AbortController()
    const waiting = queue.take(1, left.signal)
    left.abort()
    expect(await waiting).toEqual([])
    expect(clock.pending).toBe(0)
  })

  it('hands out everything at least once after its last change and at most once an interval, whatever comes when', async () => {
    const change = fc.record({ id: fc.integer({ min: 0, max: 3 }), after: fc.integer({ min: 0, max: 700 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 40 }), async (changes) => {
        const clock = createFakeClock()
        const queue = createChangeQueue<number>(clock, 1000)
        const left = new AbortController()
        const marked = new Map<number, number>()
        const taken = new Map<number, number[]>()
        const reading = (async () => {
          for (let ids = await queue.take(2, left.signal); ids.length > 0; ids = await queue.take(2, left.signal)) {
            for (const id of ids) taken.set(id, [...(taken.get(id) ?? []), clock.monotonic()])
          }
        })()
        for (const { id, after } of changes) {
          await clock.advance(after)
          queue.mark(id)
          marked.set(id, clock.monotonic())
        }
        await clock.advance(2000)
        left.abort()
        await reading
        for (const [id, at] of marked) expect(taken.get(id)?.at(-1)).toBeGreaterThanOrEqual(at)
        for (const times of taken.values())
          for (const [index, at] of times.entries()) expect(at - (times[index - 1] ?? -Infinity)).toBeGreaterThanOrEqual(1000)
      }),
      { numRuns: 50 },
    )
  })
})
