/** When sweeps happen: at once, at intervals, sooner without a coordinator, and after each gap. */
import { expect, test } from 'vitest'
import { createBroadcast } from '../../server/coordination/broadcast.js'
import { startSweep } from '../../server/worker/sweep.js'
import { createFakeClock, settled } from '../support/fake-clock.js'
import { silentLog } from '../support/silent-log.js'

const INTERVAL_MS = 1000

/** Each sweep waits until it is answered. */
function begin({ fault = null }: { readonly fault?: string | null } = {}) {
  const clock = createFakeClock()
  const gaps = createBroadcast<undefined>(() => undefined)
  const answers: (() => void)[] = []
  const startedAt: number[] = []
  const stop = startSweep({
    store: {
      sweep: () => {
        startedAt.push(clock.monotonic())
        return new Promise((resolve) => answers.push(() => resolve([])))
      },
    },
    coordinator: { wake: () => undefined, onGap: (callback) => gaps.add(callback), health: () => ({ kind: 'redis', fault }) },
    clock,
    log: silentLog(),
    agents: ['support'],
    intervalMs: INTERVAL_MS,
    limit: 10,
  })
  const answer = async (): Promise<void> => {
    answers.shift()?.()
    await settled()
  }
  return { clock, startedAt, stop, answer, tellGap: () => gaps.send(undefined) }
}

test('sweeps at once, and again an interval after each answer', async () => {
  const { clock, startedAt, answer } = begin()
  await clock.advance(5000)
  expect(startedAt).toEqual([0])
  await answer()
  await clock.advance(INTERVAL_MS - 1)
  expect(startedAt).toEqual([0])
  await clock.advance(1)
  expect(startedAt).toEqual([0, 6000])
})

test('sweeps five times as often while the coordinator does not work', async () => {
  const { clock, startedAt, answer } = begin({ fault: 'gone' })
  await answer()
  await clock.advance(INTERVAL_MS / 5)
  expect(startedAt).toEqual([0, 200])
})

test('a gap is followed by a sweep at once', async () => {
  const { clock, startedAt, answer, tellGap } = begin()
  await answer()
  await clock.advance(300)
  tellGap()
  expect(startedAt).toEqual([0, 300])
  await answer()
  await clock.advance(INTERVAL_MS)
  expect(startedAt).toEqual([0, 300, 1300])
})

test('a gap in the middle of a sweep is followed by another one, as soon as it is answered', async () => {
  const { clock, startedAt, answer, tellGap } = begin()
  tellGap()
  tellGap()
  expect(startedAt).toEqual([0])
  await clock.advance(50)
  await answer()
  await clock.advance(0)
  expect(startedAt).toEqual([0, 50])
  await answer()
  await clock.advance(INTERVAL_MS - 1)
  expect(startedAt).toEqual([0, 50])
})

test('a stop waits for the sweep that is under way, and none follows', async () => {
  const { clock, startedAt, stop, answer, tellGap } = begin()
  let isStopped = false
  const stopped = stop().then(() => (isStopped = true))
  tellGap()
  await settled()
  expect(isStopped).toBe(false)
  await answer()
  await stopped
  await clock.advance(10 * INTERVAL_MS)
  expect(startedAt).toEqual([0])
  expect(clock.pending).toBe(0)
})
