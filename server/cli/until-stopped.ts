import type { Clock } from '../clock.js'
import { EXIT } from './commands.js'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** Ctrl-C under npm arrives twice: from the terminal, and passed on by npm. Only a later one is a person who insists. */
const ECHO_MS = 500

/** The parts of `process` that this needs. */
export interface SignalSource {
  on(signal: (typeof SIGNALS)[number], listener: () => void): unknown
  off(signal: (typeof SIGNALS)[number], listener: () => void): unknown
}
export interface UntilStoppedOptions {
  readonly signals: SignalSource
  readonly clock: Clock
  /** Stopping is a courtesy: sessions survive without it. So it is not waited for longer than this. */
  readonly deadlineMs: number
  /** Called once, at the first signal. */
  readonly stop: () => Promise<void>
  /** Ends the process at once. */
  readonly exit: (code: number) => void
}

/**
 * Waits for a signal, stops, and answers the exit code. A second signal, or a stop that takes too long, ends the process hard.
 * Rejects when the stop fails.
 */
export async function untilStopped(options: UntilStoppedOptions): Promise<number> {
  const { signals, clock, stop, exit, deadlineMs } = options
  let firstAt: number | null = null
  let listener = (): void => undefined
  const first = new Promise<void>((resolve) => {
    listener = () => {
      if (firstAt !== null && clock.monotonic() - firstAt >= ECHO_MS) exit(EXIT.interrupted)
      firstAt ??= clock.monotonic()
      resolve()
    }
  })
  for (const signal of SIGNALS) signals.on(signal, listener)
  await first
  const disarm = clock.after(deadlineMs, () => {
    exit(EXIT.failure)
  })
  try {
    await stop()
    return EXIT.ok
  } finally {
    disarm()
    for (const signal of SIGNALS) signals.off(signal, listener)
  }
}
