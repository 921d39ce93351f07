/**
 * A job that runs again and again, one run at a time, at the earliest time that anybody asked for. What is asked for while it runs
 * waits for the run's end. It owns its one timer.
 */
import type { Clock } from '../clock.js'

export interface Lane {
  /** Run no later than `at`, on the monotonic clock; a time that has passed means after this macrotask. */
  request(at: number): void
  /** Forgets what was asked for; a run that has begun goes on. */
  cancel(): void
}

/** `run` handles its own faults: it never rejects. */
export function createLane(clock: Clock, run: () => Promise<void>): Lane {
  let dueAt = Infinity
  let isRunning = false
  let cancelTimer = (): void => undefined

  function arm(): void {
    cancelTimer()
    if (dueAt === Infinity) return
    cancelTimer = clock.after(Math.max(0, dueAt - clock.monotonic()), () => {
      dueAt = Infinity
      isRunning = true
      void run().finally(() => {
        isRunning = false
        arm()
      })
    })
  }

  return {
    request(at) {
      if (at >= dueAt) return
      dueAt = at
      if (!isRunning) arm()
    },
    cancel() {
      dueAt = Infinity
      cancelTimer()
    },
  }
}
