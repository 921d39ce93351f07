/** N slots side by side, the leases they hold, and the sweep; stops gracefully. */
import { setMaxListeners } from 'node:events'
import type { Clock } from '../clock.js'
import { toMessage } from '../errors.js'
import type { EventWriter } from '../events/writer.js'
import type { IdSource, WorkerId } from '../ids.js'
import { openTurnOf } from '../session/checkpoint.js'
import type { Commit } from '../session/commit.js'
import type { Meter } from '../session/meter.js'
import type { AgentPort } from '../session/agent-port.js'
import type { CommitOutcome, Coordinator, Log, SessionStore, Ticket } from '../session/ports.js'
import type { RecentHistories } from '../session/perform/recent-histories.js'
import type { Request } from '../session/requests.js'
import type { Session } from '../session/session.js'
import { createHookRunner, type HookRunner } from './hook-runner.js'
import { createLeases } from './leases.js'
import { driveOnce, type SlotPorts } from './slot.js'
import { startSweep } from './sweep.js'

export interface WorkerPoolOptions {
  readonly store: SessionStore
  readonly coordinator: Coordinator
  readonly writer: EventWriter
  readonly agents: { readonly names: readonly string[]; get(name: string): AgentPort | undefined }
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: () => number
  readonly log: Log
  readonly meter: Pick<Meter, 'leaseLost'>
  /** This process, as the database and the others know it. */
  readonly owner: WorkerId
  /** Sessions driven at the same time. */
  readonly slots: number
  /** How long a claim or a commit holds a session. */
  readonly leaseTtlMs: number
  /** False when the process itself is the lease. */
  readonly renewsLeases: boolean
  readonly sweepIntervalMs: number
  /** Histories of sessions that were driven here a moment ago. Default: none are kept. */
  readonly histories?: RecentHistories
  /** Called for each turn that ended here. */
  readonly onTurnEnded: (turn: EndedTurn) => void
  /** Called for each commit here in which a turn asks people. */
  readonly onAsked?: (asked: AskedPeople) => void
}
export interface AskedPeople {
  readonly session: Session
  readonly requests: readonly Request[]
}
export interface EndedTurn {
  readonly session: Session
  readonly number: number
  readonly steps: number
  readonly calls: number
  readonly closed: NonNullable<Commit['closedTurn']>
  readonly startedAt: number
}
export interface WorkerPool {
  /** Sessions that are driven at this moment. */
  readonly driving: number
  /**
   * Stops claiming, lets what is driven reach a commit, and gives leases back; after `deadlineMs` whatever still runs is told to stop and
   * left to the next worker. Repeating it waits for the same stop.
   */
  stop(deadlineMs: number): Promise<void>
}

/** A parked session that is due sooner than this is woken by a timer of this process; a later one by the sweep. */
const TIMER_LIMIT_MS = 60_000
/** The database counts the wait from when the commit reached it, which is a little later. */
const TIMER_SLACK_MS = 10
const SWEEP_LIMIT = 200

export function startWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { coordinator, clock, log } = options
  const draining = new AbortController()
  // Every slot listens, which is no leak.
  setMaxListeners(0, draining.signal)
  const leases = createLeases({
    ...options,
    ttlMs: options.renewsLeases ? options.leaseTtlMs : Infinity,
    onNews: (id) => coordinator.wake(id),
  })
  const hooks = createHookRunner(log)
  const ports: SlotPorts = {
    ...options,
    leases,
    draining: draining.signal,
    onCommitted: (before, commit, outcome) => announce({ ...options, hooks }, before, commit, outcome),
  }
  const stopSweep = startSweep({ ...options, agents: options.agents.names, intervalMs: options.sweepIntervalMs, limit: SWEEP_LIMIT })
  const slots = Promise.all(Array.from({ length: options.slots }, () => runSlot(ports, coordinator, draining.signal)))
  let stopped: Promise<void> | null = null

  async function stop(deadlineMs: number): Promise<void> {
    const swept = stopSweep()
    draining.abort()
    let cancel = () => {}
    const deadline = new Promise<'late'>((resolve) => (cancel = clock.after(deadlineMs, () => resolve('late'))))
    try {
      if ((await Promise.race([slots, deadline])) === 'late') await leases.releaseAll()
      await Promise.race([hooks.settled(), deadline])
    } catch (thrown) {
      log.warn(`leases could not be given back, they run out: ${toMessage(thrown)}`)
    } finally {
      cancel()
      leases.stop()
      options.histories?.clear()
    }
    await swept
  }

  return {
    get driving() {
      return leases.count
    },
    stop: (deadlineMs) => (stopped ??= stop(deadlineMs)),
  }
}

async function runSlot(ports: SlotPorts, coordinator: Coordinator, draining: AbortSignal): Promise<void> {
  for (;;) {
    const ticket = await coordinator.take(draining)
    if (ticket === null) return
    await runTicket(ticket, ports)
  }
}

async function runTicket(ticket: Ticket, ports: SlotPorts): Promise<void> {
  try {
    await driveOnce(ticket, ports)
  } catch (thrown) {
    ports.log.warn(`could not claim a session: ${toMessage(thrown)}`, { session: ticket.sessionId })
  } finally {
    ticket.done()
  }
}

/** Written, then told: to live subscribers, to lists, to whoever counts turns. What cannot be told is found in the database (R5). */
function announce(
  options: WorkerPoolOptions & { readonly hooks: HookRunner },
  before: Session,
  commit: Commit,
  outcome: Extract<CommitOutcome, { kind: 'committed' }>,
): void {
  const { coordinator, clock, log } = options
  const { id } = before.facts
  const tell = (how: () => void): void => {
    try {
      how()
    } catch (err) {
      log.warn('somebody could not be told of a commit', { err, session: id })
    }
  }
  tell(() => coordinator.publish(id, outcome.events))
  const agent = options.agents.get(before.facts.agent)
  if (agent !== undefined) options.hooks.tell(agent, before.facts, outcome.events)
  if (commit.session !== null || commit.openedTurn !== null || asksPeople(commit)) tell(() => coordinator.announce(id))
  if (commit.newRequests.length > 0) tell(() => options.onAsked?.({ session: before, requests: commit.newRequests }))
  const wakeInMs = Math.max(0, (commit.park?.wakeAt ?? Infinity) - clock.now())
  if (wakeInMs < TIMER_LIMIT_MS) tell(() => coordinator.wake(id, wakeInMs === 0 ? 0 : wakeInMs + TIMER_SLACK_MS))
  const turn = openTurnOf(before.checkpoint) ?? toUnstarted(commit.openedTurn)
  const closed = commit.closedTurn
  if (closed === null || turn === null) return
  const { number, steps, calls, startedAt } = turn
  tell(() => options.onTurnEnded({ session: before, number, steps, calls, startedAt, closed }))
}

/** The session may wait for the same as before, and yet a reviewer's queue has changed. */
function asksPeople({ newRequests, settledRequests }: Commit): boolean {
  return newRequests.length > 0 || settledRequests.length > 0
}

/** A turn that one commit opened and closed. */
function toUnstarted(opened: Commit['openedTurn']): Pick<EndedTurn, 'number' | 'steps' | 'calls' | 'startedAt'> | null {
  return opened === null ? null : { number: opened.number, startedAt: opened.startedAt, steps: 0, calls: 0 }
}
