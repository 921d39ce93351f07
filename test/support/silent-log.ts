/** A process log that says nothing, but for what a test listens to. */
import type { Log } from '../../server/session/ports.js'

export function silentLog(heard: Partial<Omit<Log, 'with'>> = {}): Log {
  const nothing = (): void => undefined
  const log: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, ...heard, with: () => log }
  return log
}
