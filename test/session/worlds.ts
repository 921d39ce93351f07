/** Processes that live and die over one store, and what a test waits for in them. */
import type { Agent } from '../../server/agents/define-agent.js'
import { systemClock } from '../../server/clock.js'
import { createFeed } from '../../server/events/feed.js'
import type { SessionId } from '../../server/ids.js'
import type { RecordedEvent } from '../../server/session/events.js'
import type { SessionStore } from '../../server/session/ports.js'
import { createMemoryStore } from '../support/memory-store.js'
import { silentLog } from '../support/silent-log.js'
import { startWorld, type World, type WorldOptions } from '../support/world.js'

export interface Worlds {
  readonly store: SessionStore
  /** What any of the processes logged as an error. */
  readonly faults: readonly string[]
  start(options?: Partial<WorldOptions>): World
  /** Stops all but those whose store does not answer any more. */
  stop(): Promise<void>
}

export function createWorlds(agents: readonly Agent[], store: SessionStore = createMemoryStore(systemClock)): Worlds {
  const faults: string[] = []
  const alive: World[] = []
  return {
    store,
    faults,
    start(options = {}) {
      const onFault = (message: string, fields: unknown): void => {
        faults.push(`${message} ${JSON.stringify(fields, errorsToText)}`)
      }
      const world = startWorld({ store, agents, sweepIntervalMs: 5, onFault, ...options })
      if (options.store === undefined) alive.push(world)
      return world
    },
    async stop() {
      await Promise.all(alive.map((world) => world.stop()))
    },
  }
}

function errorsToText(_: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value
}

/** True when this many turns have been closed and nothing of the session goes on. */
export function afterTurns(count: number): (log: readonly RecordedEvent[]) => boolean {
  return (log) => closedTurns(log) >= count && isAtRest(log)
}

/** True when this many deliveries were settled and no turn is open. */
export function afterDeliveries(count: number): (log: readonly RecordedEvent[]) => boolean {
  return (log) => log.filter((event) => event.type === 'DELIVERY_SETTLED').length >= count && openTurns(log) === 0
}

export function typesOf(log: readonly RecordedEvent[]): readonly string[] {
  return log.map((event) => event.type)
}

function isAtRest(log: readonly RecordedEvent[]): boolean {
  const last = log.at(-1)?.type ?? ''
  return last === 'SESSION_WAITING' || /^SESSION_(COMPLETED|FAILED|CANCELLED)$/.test(last)
}

function closedTurns(log: readonly RecordedEvent[]): number {
  return log.filter((event) => /^TURN_(COMPLETED|FAILED|CANCELLED)$/.test(event.type)).length
}

function openTurns(log: readonly RecordedEvent[]): number {
  return log.filter((event) => event.type === 'TURN_STARTED').length - closedTurns(log)
}

/** Follows the log from outside, whoever writes it, until `done` holds for all that is recorded. */
export async function followUntil(
  front: World,
  store: SessionStore,
  sessionId: SessionId,
  done: (log: readonly RecordedEvent[]) => boolean,
): Promise<readonly RecordedEvent[]> {
  const feed = createFeed({ store, coordinator: front.coordinator, clock: systemClock, log: silentLog(), healIntervalMs: 3 })
  const stopped = new AbortController()
  const seen: RecordedEvent[] = []
  for await (const batch of feed.follow(sessionId, { after: 0, follow: true, signal: stopped.signal })) {
    seen.push(...batch.events)
    // What is behind the end of a page is known by now too.
    if (batch.caughtUp && done(seen)) break
  }
  stopped.abort()
  feed.close()
  return seen
}

/** A promise that somebody else keeps. */
export interface Gate {
  readonly opened: Promise<void>
  open(): void
}
export function createGate(): Gate {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}
