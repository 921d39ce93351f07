/**
 * The time as the database has it. Times that one process writes are read by another (when to call a provider again, when something
 * happened), and machines disagree: one whose clock is ten minutes off would make another wait for ten minutes.
 *
 * A clock that is close to the database's is left alone: a correction would only add the noise of its measurement.
 */
import type { Clock } from '../clock.js'
import { toMessage } from '../errors.js'
import { defineStatement, type Database } from './database.js'

export interface DatabaseClockOptions {
  /** Of this machine. */
  readonly clock: Clock
  /** Takes a sentence that a person should read once. */
  readonly log: (message: string) => void
}
export interface DatabaseClock extends Clock {
  /** Looks at the database no more. */
  stop(): void
}

const READ_CLOCK = defineStatement<{ readonly now: number }>(
  'read-clock',
  'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
)
/** Between two looks; a clock that was set meanwhile is noticed by then. */
const INTERVAL_MS = 30_000
const TOLERANCE_MS = 250

/** Resolves once the two clocks have been compared. A comparison that fails is made again at the next look. */
export async function createDatabaseClock(database: Database, { clock, log }: DatabaseClockOptions): Promise<DatabaseClock> {
  let offsetMs = 0
  let isStopped = false
  let cancel = (): void => undefined

  async function compare(): Promise<void> {
    const sentAt = clock.now()
    const since = clock.monotonic()
    const [row] = await database.query(READ_CLOCK, [])
    const tookMs = clock.monotonic() - since
    if (row === undefined) return
    const measuredMs = row.now - (sentAt + tookMs / 2)
    if (Math.abs(measuredMs - offsetMs) < TOLERANCE_MS + tookMs) return
    offsetMs = Math.abs(measuredMs) < TOLERANCE_MS + tookMs ? 0 : Math.round(measuredMs)
    log(`${describe(offsetMs)}; times are the database's`)
  }

  async function look(): Promise<void> {
    try {
      await compare()
    } catch (thrown) {
      log(`the clocks of this machine and of the database could not be compared: ${toMessage(thrown)}`)
    }
    if (!isStopped) cancel = clock.after(INTERVAL_MS, () => void look())
  }

  await look()
  return {
    now: () => clock.now() + offsetMs,
    monotonic: () => clock.monotonic(),
    after: (delayMs, callback) => clock.after(delayMs, callback),
    stop: () => {
      isStopped = true
      cancel()
    },
  }
}

function describe(offsetMs: number): string {
  if (offsetMs === 0) return "the clock of this machine agrees with the database's"
  const seconds = (Math.abs(offsetMs) / 1000).toFixed(1)
  return `the clock of this machine is ${seconds} s ${offsetMs < 0 ? 'ahead of' : 'behind'} the database's`
}
