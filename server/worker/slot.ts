/** One claim: takes a session that may be due, drives it until it parks, and gives it back. */
import type { EventWriter } from '../events/writer.js'
import type { WorkerId } from '../ids.js'
import { drive, type DrivePorts } from '../session/drive.js'
import type { AgentPort } from '../session/agent-port.js'
import type { Ticket } from '../session/ports.js'
import { giveBack, whatFollows } from './give-back.js'
import { sayingWhenItLeaves } from './leaving.js'
import type { Leases } from './leases.js'

export interface SlotPorts extends Omit<DrivePorts, 'stream' | 'agent'> {
  readonly owner: WorkerId
  readonly agents: { readonly names: readonly string[]; get(name: string): AgentPort | undefined }
  readonly writer: EventWriter
  readonly leases: Leases
  readonly draining: AbortSignal
}

export async function driveOnce(ticket: Ticket, ports: SlotPorts): Promise<void> {
  const { store, owner, agents, clock, leases, writer } = ports
  const sentAt = clock.monotonic()
  const session = await store.claim(ticket.sessionId, { owner, ttlMs: ports.leaseTtlMs, agents: agents.names })
  if (session === 'not-due') return
  const agent = agents.get(session.facts.agent)
  if (agent === undefined || leases.isClosed) return store.release([session.lease], 'unused')
  const log = ports.log.with({ session: ticket.sessionId })
  let { claims } = session
  if (claims > 1) log.warn('a session is claimed again, and nothing was committed since the last claim', { claims })
  const onCommitted: DrivePorts['onCommitted'] = (...told) => {
    claims = 0
    ports.onCommitted(...told)
  }
  const held = leases.hold(session, sentAt)
  const stream = writer.open(session.lease, { onFenced: () => held.lose('another worker wrote to the session') })
  const signals = { lost: held.lost, draining: ports.draining, onNudge: (callback: () => void) => ticket.onNudge(callback) }
  try {
    await drive(session, { ...ports, store: sayingWhenItLeaves(store, held), log, agent, stream, onCommitted }, signals)
  } catch (thrown) {
    log.error(`driving a session failed; ${whatFollows(claims)}`, { claims, err: thrown })
    giveBack(session.lease, ports)
  } finally {
    held.drop()
  }
}
