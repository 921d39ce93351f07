/** A clock that stands still until it is told to go on. What is due runs in the order of its time, each with all that follows from it. */
import type { Clock } from '../../server/clock.js'

export interface FakeClock extends Clock {
  /** Goes on by `ms`, running what comes due on the way, and waits until nothing more follows from it. */
  advance(ms: number): Promise<void>
  /** Timers that have not run. */
  readonly pending: number
}

interface Timer {
  readonly at: number
  readonly callback: () => void
}

export function createFakeClock(startAt = Date.UTC(2026, 0, 1)): FakeClock {
  let elapsed = 0
  const timers = new Set<Timer>()

  function nextDue(until: number): Timer | null {
    let next: Timer | null = null
    for (const timer of timers) if (timer.at <= until && (next === null || timer.at < next.at)) next = timer
    return next
  }

  return {
    now: () => startAt + elapsed,
    monotonic: () => elapsed,
    after(delayMs, callback) {
      const timer = { at: elapsed + Math.max(0, delayMs), callback }
      timers.add(timer)
      return () => {
        timers.delete(timer)
      }
    },
    async advance(ms) {
      const until = elapsed + ms
      await settled()
      for (let timer = nextDue(until); timer !== null; timer = nextDue(until)) {
        timers.delete(timer)
        elapsed = Math.max(elapsed, timer.at)
        timer.callback()
        await settled()
      }
      elapsed = until
    },
    get pending() {
      return timers.size
    },
  }
}

/** Resolves when every microtask that follows from what has happened so far has run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
