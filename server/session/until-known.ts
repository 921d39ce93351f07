/** Patience with a database that does not answer: the same request again, until its outcome is known. */
import type { Clock } from '../clock.js'
import { OutcomeUnknown } from '../errors.js'
import type { Log } from './ports.js'

const FIRST_DELAY_MS = 20
const MAX_DELAY_MS = 1000

/**
 * Repeats `request`, which must be safe to repeat, while it throws OutcomeUnknown; other faults are thrown on. Null when the lease is lost
 * before the outcome is known.
 */
export async function untilKnown<T>(
  request: () => Promise<T>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  lost: AbortSignal,
): Promise<T | null> {
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)) {
    try {
      return await request()
    } catch (thrown) {
      if (!(thrown instanceof OutcomeUnknown)) throw thrown
      log.warn('the database did not answer, asking again', { err: thrown, delayMs })
    }
    if (!(await pause(clock, delayMs, lost))) return null
  }
}

/** False when the lease was lost. */
function pause(clock: Clock, delayMs: number, lost: AbortSignal): Promise<boolean> {
  if (lost.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const end = (kept: boolean) => (): void => {
      cancel()
      lost.removeEventListener('abort', onLost)
      resolve(kept)
    }
    const onLost = end(false)
    const cancel = clock.after(delayMs, end(true))
    lost.addEventListener('abort', onLost, { once: true })
  })
}
