/** The way back for a lease whose driver met a fault. */
import type { Clock } from '../clock.js'
import { toMessage } from '../errors.js'
import type { Log, SessionStore } from '../session/ports.js'
import type { Lease } from '../session/session.js'

export interface GiveBackPorts {
  readonly store: Pick<SessionStore, 'release'>
  readonly clock: Clock
  readonly log: Log
  /** The process is about to stop. */
  readonly draining: AbortSignal
}

/** After a fault the session is left alone for a while: whatever broke it may be passing, and must not be hammered. */
const FAULT_PAUSE_MS = 5000

/** Gives the lease back, again and again until it succeeds: the lease of an embedded database never runs out. A process that stops tries once more, at once. */
export function giveBackLater(lease: Lease, ports: GiveBackPorts): void {
  const { store, clock, draining, log } = ports
  const giveBack = (again: () => void) => (): void => {
    cancel()
    draining.removeEventListener('abort', onDrain)
    store.release([lease]).catch((thrown: unknown) => {
      log.warn(`a lease could not be given back: ${toMessage(thrown)}`, { session: lease.sessionId })
      again()
    })
  }
  const onDrain = giveBack(() => undefined)
  const cancel = draining.aborted
    ? () => undefined
    : clock.after(
        FAULT_PAUSE_MS,
        giveBack(() => giveBackLater(lease, ports)),
      )
  if (draining.aborted) onDrain()
  else draining.addEventListener('abort', onDrain, { once: true })
}
