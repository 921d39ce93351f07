/** The one source of time. Adapters and the heart take it by argument; tests hand in their own. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. */
  now(): number
  /** Never goes back; for measuring spans. Milliseconds. */
  monotonic(): number
  /** Calls back once after `delayMs`; the answer cancels it. A pending timer never keeps the process alive. */
  after(delayMs: number, callback: () => void): () => void
}

/** A timer longer than this overflows Node's 32-bit delay; longer ones are due times in the database. */
const MAX_DELAY_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, Math.min(Math.max(delayMs, 0), MAX_DELAY_MS))
    timer.unref()
    return () => {
      clearTimeout(timer)
    }
  },
}
