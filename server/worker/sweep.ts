/**
 * Finds sessions that are due and that nobody drives: after a crash, at a due time, when a wake was lost, and all of them while the
 * coordinator does not work. Any worker may run it, and all do.
 */
import type { Clock } from '../clock.js'
import { toMessage } from '../errors.js'
import type { Coordinator, Log, SessionStore } from '../session/ports.js'

export interface SweepOptions {
  readonly store: Pick<SessionStore, 'sweep'>
  readonly coordinator: Pick<Coordinator, 'wake' | 'onGap' | 'health'>
  readonly clock: Clock
  readonly log: Log
  readonly agents: readonly string[]
  readonly intervalMs: number
  /** Sessions a sweep wakes at most; the rest come with the next one. */
  readonly limit: number
}

/** While the coordinator does not work, this is how sessions are found at all. */
const HASTE = 5

/** Sweeps at once and then at intervals, one sweep at a time. The answer stops it, and resolves once nothing is asked of the store any more. */
export function startSweep(options: SweepOptions): () => Promise<void> {
  const { coordinator, clock, intervalMs } = options
  let running: Promise<void> | null = null
  let isMissing = false
  let isStopped = false
  let cancelTimer = (): void => undefined

  function run(): void {
    isMissing = false
    running = sweep(options).then(() => {
      running = null
      if (isStopped) return
      const pauseMs = coordinator.health().fault === null ? intervalMs : intervalMs / HASTE
      cancelTimer = clock.after(isMissing ? 0 : pauseMs, run)
    })
  }
  /** What was asked before the gap may have missed something, so a sweep that is under way is followed by another. */
  function hearOfGap(): void {
    isMissing = true
    if (running !== null) return
    cancelTimer()
    run()
  }
  const forget = coordinator.onGap(hearOfGap)
  run()

  return () => {
    isStopped = true
    forget()
    cancelTimer()
    return running ?? Promise.resolve()
  }
}

async function sweep({ store, coordinator, log, agents, limit }: SweepOptions): Promise<void> {
  try {
    const due = await store.sweep({ agents, limit })
    for (const sessionId of due) coordinator.wake(sessionId)
    if (due.length > 0) log.debug('woke sessions that were due', { count: due.length })
  } catch (thrown) {
    log.warn(`could not look for sessions that are due: ${toMessage(thrown)}`)
  }
}
