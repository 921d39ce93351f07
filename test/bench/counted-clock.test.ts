import { expect, it } from 'vitest'
import { countTimers } from '../../bench/counted-clock.js'
import { createFakeClock } from '../support/fake-clock.js'

it('a timer is pending until it rings or is cancelled, whichever comes first, and counts once', async () => {
  const inner = createFakeClock()
  const clock = countTimers(inner)
  const seen: number[] = []
  const cancels = [1, 2, 3].map((delayMs) => clock.after(delayMs, () => seen.push(clock.pending)))
  expect(clock.pending).toBe(3)
  cancels[2]?.()
  cancels[2]?.()
  expect(clock.pending).toBe(2)
  await inner.advance(2)
  for (const cancel of cancels) cancel()
  expect([seen, clock.pending]).toEqual([[1, 0], 0])
})
