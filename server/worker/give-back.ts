/** The way back for a lease whose driver met a fault, and what comes after it. */
import type { Clock } from '../clock.js'
import { toMessage } from '../errors.js'
import type { Log, SessionStore } from '../session/ports.js'
import { CLAIM_PAUSE, MAX_CLAIMS, retryDelayMs } from '../session/retry.js'
import type { Lease } from '../session/session.js'

export interface GiveBackPorts {
  readonly store: Pick<SessionStore, 'release'>
  readonly clock: Clock
  readonly log: Log
  /** The process is about to stop. */
  readonly draining: AbortSignal
}

/** Between two tries to give a lease back. */
const AGAIN_MS = 5000

/**
 * Gives the lease back, again and again until it succeeds: the lease of an embedded database never runs out. A process that stops tries once
 * more, at once. How long the session is then left alone stands in the database, so it outlives this process: whatever broke the driver
 * may be passing, and must not be hammered.
 */
export function giveBack(lease: Lease, ports: GiveBackPorts): void {
  const { store, clock, draining, log } = ports
  store.release([lease], 'fault').catch((thrown: unknown) => {
    log.warn(`a lease could not be given back: ${toMessage(thrown)}`, { session: lease.sessionId })
    if (draining.aborted) return
    const again = (): void => {
      cancel()
      draining.removeEventListener('abort', again)
      giveBack(lease, ports)
    }
    const cancel = clock.after(AGAIN_MS, again)
    draining.addEventListener('abort', again, { once: true })
  })
}

/** What becomes of a session whose driver failed after so many claims without a commit, for people. */
export function whatFollows(claims: number): string {
  const seconds = retryDelayMs(CLAIM_PAUSE, Math.max(1, claims), null, 1) / 1000
  if (claims < MAX_CLAIMS) return `it is tried again in at most ${seconds} s`
  if (claims === MAX_CLAIMS) return `in at most ${seconds} s what it is at is given up (SESSION_STALLED)`
  return `what it is at could not be given up either, which is tried again in at most ${seconds} s`
}
