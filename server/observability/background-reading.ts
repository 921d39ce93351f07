/**
 * Something that the database knows, read when somebody asks and not more often than it may cost.
 *
 * Whoever asks gets the newest answer; he never fails with it and waits for it as long as he says. One question is under way at a time. The
 * pause between two grows with what one costs, so that asking takes only a small share of the time of one connection, and doubles
 * after a failure. An answer that is too old to be true is not told.
 */
import type { Clock } from '../clock.js'
import { toMessage } from '../errors.js'
import type { Log } from '../session/ports.js'

export interface ReadingOptions<Value> {
  /** What is read, for the log: `sessions could not be counted`. */
  readonly fault: string
  readonly read: () => Promise<Value>
  /** Between two reads, milliseconds; the pause is also as many times longer than a read took. */
  readonly pause: { readonly shortestMs: number; readonly times: number }
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
}
export interface Reading<Value> {
  /** The newest answer, or null. Begins to read again when it is time, and waits for it up to `waitMs`. */
  get(waitMs: number): Promise<Value | null>
}

const LONGEST_PAUSE_MS = 3_600_000
/** An answer is told until the one after the next has had its time too. */
const PAUSES_TOLD = 3

export function createReading<Value>(options: ReadingOptions<Value>): Reading<Value> {
  const { fault, read, pause, clock, log } = options
  let newest: { readonly value: Value; readonly until: number } | null = null
  let pauseMs = pause.shortestMs
  let nextAt = -Infinity
  let running: Promise<void> | null = null

  async function begin(): Promise<void> {
    const startedAt = clock.monotonic()
    const costMs = (): number => (clock.monotonic() - startedAt) * pause.times
    const toPause = (ms: number): number => Math.min(Math.max(ms, pause.shortestMs), LONGEST_PAUSE_MS)
    try {
      const value = await read()
      pauseMs = toPause(costMs())
      newest = { value, until: clock.monotonic() + PAUSES_TOLD * pauseMs }
    } catch (thrown) {
      pauseMs = toPause(Math.max(2 * pauseMs, costMs()))
      log.warn(`${fault}: ${toMessage(thrown)}`, { againInS: Math.round(pauseMs / 1000) })
    }
    nextAt = clock.monotonic() + pauseMs
    running = null
  }

  return {
    async get(waitMs) {
      if (running === null && clock.monotonic() >= nextAt) running = begin()
      if (running !== null && waitMs > 0) await raced(running, waitMs, clock)
      return newest === null || clock.monotonic() > newest.until ? null : newest.value
    },
  }
}

async function raced(work: Promise<void>, waitMs: number, clock: Clock): Promise<void> {
  let cancel = (): void => undefined
  const late = new Promise<void>((resolve) => (cancel = clock.after(waitMs, resolve)))
  await Promise.race([work, late])
  cancel()
}
