/** Finds sessions that are due and that nobody drives: after a crash, at a due time, when a wake was lost. Any worker may run it. */
import type { Clock } from '../clock.js'
import { toMessage } from '../errors.js'
import type { Coordinator, Log, SessionStore } from '../session/ports.js'

export interface SweepOptions {
  readonly store: Pick<SessionStore, 'sweep'>
  readonly coordinator: Pick<Coordinator, 'wake'>
  readonly clock: Clock
  readonly log: Log
  readonly agents: readonly string[]
  readonly intervalMs: number
  /** Sessions a sweep wakes at most; the rest come with the next one. */
  readonly limit: number
}

/** Sweeps at once and then at intervals; the answer stops it. */
export function startSweep({ store, coordinator, clock, log, agents, intervalMs, limit }: SweepOptions): () => void {
  let stopped = false
  let cancelTimer = () => {}

  async function sweep(): Promise<void> {
    try {
      const due = await store.sweep({ agents, limit })
      for (const sessionId of due) coordinator.wake(sessionId)
      if (due.length > 0) log.debug('woke sessions that were due', { count: due.length })
    } catch (thrown) {
      log.warn(`could not look for sessions that are due: ${toMessage(thrown)}`)
    }
    if (!stopped) cancelTimer = clock.after(intervalMs, () => void sweep())
  }
  void sweep()

  return () => {
    stopped = true
    cancelTimer()
  }
}
