/** The lease of a failed driver goes back, however long the database refuses it; but nothing holds up a process that stops. */
import { describe, expect, test } from 'vitest'
import { giveBack } from '../../server/worker/give-back.js'
import { createFakeClock } from '../support/fake-clock.js'
import { givenSession } from '../support/given.js'
import { silentLog } from '../support/silent-log.js'

const { lease } = givenSession({ phase: { kind: 'idle' } })

/** A store that refuses the first `refusals` releases. */
function start(refusals: number) {
  const clock = createFakeClock()
  const stop = new AbortController()
  const tries: unknown[] = []
  const warnings: string[] = []
  const store = {
    release: async (...args: unknown[]): Promise<void> => {
      tries.push(args)
      if (tries.length <= refusals) throw new Error('no space left on device')
    },
  }
  giveBack(lease, { store, clock, draining: stop.signal, log: silentLog({ warn: (message) => warnings.push(message) }) })
  return { clock, stop, tries, warnings }
}

describe('a lease whose driver failed', () => {
  test('is given back at once, as a fault', () => {
    expect(start(0).tries).toEqual([[[lease], 'fault']])
  })

  test('is given back again and again until it is taken, and then no more', async () => {
    const { clock, tries, warnings } = start(3)
    await clock.advance(60_000)
    expect([tries.length, warnings.length, clock.pending]).toEqual([4, 3, 0])
  })

  test('is tried once more, at once, when the process stops, and then left', async () => {
    const { clock, stop, tries } = start(Infinity)
    await clock.advance(0)
    stop.abort()
    await clock.advance(0)
    expect([tries.length, clock.pending]).toEqual([2, 0])
    await clock.advance(60_000)
    expect(tries).toHaveLength(2)
  })

  test('in a process that stops already is tried once', async () => {
    const { clock, stop, tries } = start(Infinity)
    stop.abort()
    await clock.advance(60_000)
    expect([tries.length, clock.pending]).toEqual([1, 0])
  })
})
