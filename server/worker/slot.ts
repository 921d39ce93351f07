/** One claim: takes a session that may be due, drives it until it parks, and gives it back. */
import type { EventWriter } from '../events/writer.js'
import type { WorkerId } from '../ids.js'
import { drive, type DrivePorts } from '../session/drive.js'
import type { AgentPort, Ticket } from '../session/ports.js'
import { giveBackLater } from './give-back.js'
import type { Leases } from './leases.js'

export interface SlotPorts extends Omit<DrivePorts, 'stream' | 'agent'> {
  readonly owner: WorkerId
  readonly agents: { readonly names: readonly string[]; get(name: string): AgentPort | undefined }
  readonly writer: EventWriter
  readonly leases: Leases
  readonly draining: AbortSignal
}

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
