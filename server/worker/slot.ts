/** One claim: takes a session that may be due, drives it until it parks, and gives it back. */
import type { EventWriter } from '../events/writer.js'
import { toMessage } from '../errors.js'
import type { WorkerId } from '../ids.js'
import { drive, type DrivePorts } from '../session/drive.js'
import type { AgentPort, Ticket } from '../session/ports.js'
import type { Lease } from '../session/session.js'
import type { Leases } from './leases.js'

export interface SlotPorts extends Omit<DrivePorts, 'stream' | 'agent'> {
  readonly owner: WorkerId
  readonly agents: { readonly names: readonly string[]; get(name: string): AgentPort | undefined }
  readonly writer: EventWriter
  readonly leases: Leases
  readonly draining: AbortSignal
}

/** After a fault the session is left alone for a while: whatever broke it may be passing, and must not be hammered. */
const FAULT_PAUSE_MS = 5000

export async function driveOnce(ticket: Ticket, ports: SlotPorts): Promise<void> {
  const { store, owner, agents, clock, leases, writer, log } = ports
  const sentAt = clock.monotonic()
  const session = await store.claim(ticket.sessionId, { owner, ttlMs: ports.leaseTtlMs, agents: agents.names })
  if (session === 'not-due') return
  const agent = agents.get(session.facts.agent)
  if (agent === undefined || leases.isClosed) return store.release([session.lease])
  const held = leases.hold(session, sentAt)
  const stream = writer.open(session.lease, { onFenced: () => held.lose('another worker wrote to the session') })
  const signals = { lost: held.lost, draining: ports.draining, onNudge: (callback: () => void) => ticket.onNudge(callback) }
  try {
    await drive(session, { ...ports, agent, stream }, signals)
  } catch (thrown) {
    log.error('driving a session failed; it is tried again', { session: ticket.sessionId, err: thrown })
    giveBackLater(session.lease, ports)
  } finally {
    held.drop()
  }
}

/** Again and again until it succeeds: the lease of an embedded database never runs out. A process that stops tries once more, at once. */
function giveBackLater(lease: Lease, ports: SlotPorts): void {
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
