import { describe, expect, it } from 'vitest'
import { watchAccess } from '../../server/graphql/access-watch.js'
import type { Caller } from '../../server/graphql/caller.js'
import { REAUTHENTICATE_MS } from '../../server/graphql/limits.js'
import { createFakeClock, settled } from '../support/fake-clock.js'

const CALLER: Caller = { tenant: 'default', id: 'ann', kind: 'USER', scopes: [] }

function watch(reauthenticate: () => Promise<Caller | null>) {
  const clock = createFakeClock()
  const warnings: string[] = []
  const log = { warn: (message: string) => warnings.push(message), error: () => undefined }
  const left = new AbortController()
  return { clock, warnings, left, ...watchAccess({ services: { clock, log }, reauthenticate }, left.signal, () => Promise.resolve(null)) }
}

describe('a watch over who may go on', () => {
  it('leaves no timer when it is stopped while it asks', async () => {
    let answer = (_: Caller | null): void => undefined
    const { clock, stop } = watch(() => new Promise((resolve) => (answer = resolve)))
    await clock.advance(REAUTHENTICATE_MS)
    stop()
    answer(CALLER)
    await settled()
    expect(clock.pending).toBe(0)
  })

  it('goes on when asking fails, says so in the log, and asks again', async () => {
    let asked = 0
    const { clock, signal, reason, warnings } = watch(() => {
      asked += 1
      return asked === 1 ? Promise.reject(new Error('no answer')) : Promise.resolve(null)
    })
    await clock.advance(REAUTHENTICATE_MS)
    expect([signal.aborted, warnings.length]).toEqual([false, 1])
    await clock.advance(REAUTHENTICATE_MS)
    expect([signal.aborted, reason()?.extensions]).toMatchObject([true, { code: 'UNAUTHENTICATED' }])
    expect(clock.pending).toBe(0)
  })

  it('aborts with the reader', () => {
    const { left, signal, reason } = watch(() => Promise.resolve(CALLER))
    left.abort()
    expect([signal.aborted, reason()]).toEqual([true, null])
  })
})
