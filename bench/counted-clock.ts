/** A clock that knows how many of its timers are pending. Whatever the engine waits for goes through its clock. */
import type { Clock } from '../server/clock.js'

export interface CountedClock extends Clock {
  readonly pending: number
}

export function countTimers(clock: Clock): CountedClock {
  let pending = 0
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after(delayMs, callback) {
      let isPending = true
      const end = (): void => {
        if (isPending) pending -= 1
        isPending = false
      }
      pending += 1
      const cancel = clock.after(delayMs, () => {
        end()
        callback()
      })
      return () => {
        end()
        cancel()
      }
    },
    get pending() {
      return pending
    },
  }
}
