/** One process of Perdure without its API: slots, writer and intake over a store that may outlive it. */
import { createLocalCoordinator } from '../../server/coordination/local.js'
import type { Agent } from '../../server/agents/define-agent.js'
import { createRegistry } from '../../server/agents/registry.js'
import { systemClock } from '../../server/clock.js'
import { createEventWriter } from '../../server/events/writer.js'
import { createIdSource, type SessionId } from '../../server/ids.js'
import { NO_METER } from '../../server/session/meter.js'
import { createIntake, type SendTarget } from '../../server/session/intake.js'
import type { DeliveryContent } from '../../server/session/deliveries.js'
import type { RecordedEvent } from '../../server/session/events.js'
import type { HistoryItem } from '../../server/session/history.js'
import type { Log, SessionStore } from '../../server/session/ports.js'
import type { Principal } from '../../server/session/principal.js'
import { NO_ANSWER, type Answer } from '../../server/session/requests.js'
import { startWorkerPool } from '../../server/worker/pool.js'

export const ALICE: Principal = { tenant: 'default', id: 'alice', kind: 'USER' }
export const BOB: Principal = { tenant: 'default', id: 'bob', kind: 'USER' }

export interface WorldOptions {
  readonly store: SessionStore
  readonly agents: readonly Agent[]
  readonly slots?: number
  /** Default: longer than any test. */
  readonly leaseTtlMs?: number
  readonly sweepIntervalMs?: number
  readonly onFault?: (message: string, fields: unknown) => void
}

export type World = ReturnType<typeof startWorld>

export function startWorld({ store, agents, slots = 4, leaseTtlMs = 600_000, sweepIntervalMs = 50, onFault }: WorldOptions) {
  const clock = systemClock
  const ids = createIdSource()
  const log = silentLog(onFault ?? ((message, fields) => console.error(message, fields)))
  const registry = createRegistry(agents, (spec) => {
    if (typeof spec === 'string') throw new Error(`no model ${spec} in tests`)
    return spec
  })
  const coordinator = createLocalCoordinator({ clock })
  const writer = createEventWriter({ store, coordinator, clock, ttlMs: leaseTtlMs, log })
  const intake = createIntake({
    store,
    coordinator,
    clock,
    ids,
    deployment: 'test',
    lifetimeOf: () => ({ mode: 'CONVERSATION', idleTimeoutMs: null }),
  })
  const pool = startWorkerPool({
    store,
    coordinator,
    writer,
    agents: registry,
    clock,
    ids,
    random: () => 0,
    log,
    meter: NO_METER,
    owner: ids.next('wrk'),
    slots,
    leaseTtlMs,
    renewsLeases: false,
    sweepIntervalMs,
    onTurnEnded: () => undefined,
  })

  async function deliver(target: SendTarget, content: DeliveryContent, by = ALICE, key: string | null = null): Promise<SessionId> {
    const outcome = await intake.deliver(by, target, content, key)
    if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`)
    return outcome.sessionId
  }

  return {
    store,
    intake,
    coordinator,
    /** Starts a session with a first message. */
    open(agent: string, text: string, by = ALICE): Promise<SessionId> {
      const spec = { agent, mode: null, idleTimeoutMs: null, title: null, metadata: {}, addresses: [], history: [] }
      return deliver({ kind: 'create', spec }, { kind: 'MESSAGE', text, policy: 'STEER' }, by)
    },
    send: (sessionId: SessionId, text: string, by = ALICE) =>
      deliver({ kind: 'session', sessionId }, { kind: 'MESSAGE', text, policy: 'STEER' }, by),
    queue: (sessionId: SessionId, text: string, by = ALICE) =>
      deliver({ kind: 'session', sessionId }, { kind: 'MESSAGE', text, policy: 'QUEUE' }, by),
    /** Answers requests, all of them or none. Throws when they are not open. */
    respond: (sessionId: SessionId, answers: readonly (Partial<Answer> & Pick<Answer, 'requestId'>)[], by = ALICE) => {
      const content = { kind: 'ANSWERS', answers: answers.map((answer) => ({ ...NO_ANSWER, reason: null, ...answer })) } as const
      return deliver({ kind: 'session', sessionId }, content, by)
    },
    clear: (sessionId: SessionId) => deliver({ kind: 'session', sessionId }, { kind: 'CLEAR' }),
    cancel: (sessionId: SessionId, dropQueued = false) =>
      deliver({ kind: 'session', sessionId }, { kind: 'CANCEL', turnId: null, dropQueued }),
    end: (sessionId: SessionId) => deliver({ kind: 'session', sessionId }, { kind: 'END', reason: null }),
    /** Resolves with the log once `done` holds for it. */
    until: (sessionId: SessionId, done: (log: readonly RecordedEvent[]) => boolean) => untilLog(store, coordinator, sessionId, done),
    /** Resolves with the log once the session rests or has ended and nothing waits in its inbox. */
    untilRest: (sessionId: SessionId) => untilLog(store, coordinator, sessionId, isAtRest),
    /** Resolves with the next event of the type that is published. Call it before what causes it can be over. */
    untilNext: (sessionId: SessionId, type: RecordedEvent['type']) => untilPublished(coordinator, sessionId, type),
    stop: () => pool.stop(1000),
  }
}

async function untilLog(
  store: SessionStore,
  coordinator: ReturnType<typeof createLocalCoordinator>,
  sessionId: SessionId,
  done: (log: readonly RecordedEvent[]) => boolean,
): Promise<readonly RecordedEvent[]> {
  for (;;) {
    let wake = (): void => undefined
    const published = new Promise<void>((resolve) => (wake = resolve))
    const unsubscribe = await coordinator.subscribe(sessionId, wake)
    try {
      const log = await readLog(store, sessionId)
      if (done(log)) return log
      await published
    } finally {
      unsubscribe()
    }
  }
}

async function untilPublished(
  coordinator: ReturnType<typeof createLocalCoordinator>,
  sessionId: SessionId,
  type: RecordedEvent['type'],
): Promise<RecordedEvent> {
  let take = (_event: RecordedEvent): void => undefined
  const found = new Promise<RecordedEvent>((resolve) => (take = resolve))
  const unsubscribe = await coordinator.subscribe(sessionId, (events) => {
    const event = events.find((one) => one.type === type)
    if (event !== undefined) take(event)
  })
  try {
    return await found
  } finally {
    unsubscribe()
  }
}

function isAtRest(log: readonly RecordedEvent[]): boolean {
  const last = log.at(-1)?.type
  return last === 'SESSION_WAITING' || last === 'SESSION_COMPLETED' || last === 'SESSION_FAILED' || last === 'SESSION_CANCELLED'
}

export async function readLog(store: SessionStore, sessionId: SessionId): Promise<readonly RecordedEvent[]> {
  const log: RecordedEvent[] = []
  for (;;) {
    const page = await store.readEvents(sessionId, log.at(-1)?.position ?? 0, 100)
    log.push(...page)
    if (page.length < 100) return log
  }
}

/** The conversation as a person reads it: what must be the same however often the process died. */
export function transcript(history: readonly HistoryItem[]): readonly string[] {
  return history.flatMap((item) => (item.role === 'tool' || item.text === '' ? [] : [`${item.role}: ${item.text}`]))
}

function silentLog(onFault: (message: string, fields: unknown) => void): Log {
  const log: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: onFault, with: () => log }
  return log
}
