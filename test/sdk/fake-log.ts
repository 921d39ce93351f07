/** Sessions as a server keeps them, in memory: a log, deliveries, idempotency keys. Agents answer from scripts. */
import { setImmediate as tick } from 'node:timers/promises'
import type { BlockId } from '../../server/ids.js'
import type { EventFields, EventType } from '../../server/session/events.js'

export interface LoggedEvent {
  readonly __typename: string
  readonly type: EventType
  readonly cursor: string
  readonly turnId: string | null
  readonly [field: string]: unknown
}
export interface FakeDelivery {
  readonly id: string
  readonly sessionId: string
  readonly text: string
  status: 'ACCEPTED' | 'APPLIED' | 'REJECTED'
  /** Default: MESSAGE, STEER, of ann. */
  readonly kind?: string
  readonly policy?: string
  readonly by?: object
}
export interface FakeSession {
  readonly id: string
  readonly agent: string
  readonly log: LoggedEvent[]
  readonly deliveries: FakeDelivery[]
  turns: number
  endedAt: string | null
  title: string | null
}

const AT = '2026-01-01T00:00:00.000Z'
export const USER = { tenant: 't', id: 'ann', kind: 'USER', name: 'Ann' } as const
const USAGE = {
  promptTokens: 7,
  completionTokens: 5,
  cacheTokens: null,
  reasoningTokens: null,
  costUsd: null,
  totalTokens: 12,
  incomplete: false,
}
const FAILURE = { code: 'MODEL_REFUSED', message: 'the model refused', retryable: false }

interface Scope {
  readonly turnId?: string
  readonly stepIndex?: number
  readonly attempt?: number
}

export interface FakeLog {
  readonly sessions: Map<string, FakeSession>
  create(agent: string): FakeSession
  find(id: string): FakeSession
  /** Appends events as one commit, and wakes the followers. */
  append<Type extends EventType>(session: FakeSession, type: Type, data: EventFields[Type], scope?: Scope): void
  /** Resolves when the log is longer than `length`. */
  grown(session: FakeSession, length: number): Promise<void>
  /** Accepts a message; the agent's answer follows by itself. */
  deliver(session: FakeSession, text: string): FakeDelivery
  end(session: FakeSession): void
  /** Agents called `held` wait for this before they finish. */
  release(): void
}

export function createFakeLog(): FakeLog {
  const sessions = new Map<string, FakeSession>()
  const waiting = new Set<() => void>()
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => (release = resolve))
  let ids = 0

  const log: FakeLog = {
    sessions,
    release: () => release(),
    create(agent) {
      const session: FakeSession = { id: `ses_${++ids}`, agent, log: [], deliveries: [], turns: 0, endedAt: null, title: null }
      sessions.set(session.id, session)
      return session
    },
    find(id) {
      const session = sessions.get(id)
      if (session === undefined) throw new Error(`no session ${id}`)
      return session
    },
    append(session, type, data, scope = {}) {
      const position = session.log.length + 1
      const base = { id: `evt_${session.id}_${position}`, cursor: String(position), at: AT, sessionId: session.id }
      const where = { turnId: scope.turnId ?? null, stepIndex: scope.stepIndex ?? null, attempt: scope.attempt ?? null }
      session.log.push({ __typename: toTypeName(type), type, ...base, ...where, data: {}, ...data })
      for (const wake of [...waiting]) wake()
    },
    async grown(session, length) {
      while (session.log.length <= length) await new Promise<void>((resolve) => waiting.add(resolve)).finally(() => waiting.clear())
    },
    deliver(session, text) {
      const delivery: FakeDelivery = { id: `dlv_${++ids}`, sessionId: session.id, text, status: 'ACCEPTED' }
      session.deliveries.push(delivery)
      const turnId = `turn_${++ids}`
      void tick().then(() => answer(log, session, { delivery, turnId, released }))
      return delivery
    },
    end(session) {
      session.endedAt = AT
      log.append(session, 'SESSION_COMPLETED', { reason: 'ENDED', error: null, usage: USAGE })
    },
  }
  return log
}

interface Answering {
  readonly delivery: FakeDelivery
  readonly turnId: string
  readonly released: Promise<void>
}

/** One turn: `echo` says the message back in pieces, `failing` fails, `held` waits in the middle, `dropping` rejects it, `quiet` leaves it to the test. */
async function answer(log: FakeLog, session: FakeSession, { delivery, turnId, released }: Answering): Promise<void> {
  const { id } = delivery
  if (session.agent === 'quiet') return
  if (session.agent === 'dropping') {
    delivery.status = 'REJECTED'
    log.append(session, 'DELIVERY_SETTLED', settled(id, 'REJECTED', null, 'cleared'))
    return
  }
  session.turns += 1
  const step = { turnId, stepIndex: 0, attempt: 1 }
  log.append(session, 'TURN_STARTED', started(session.turns, id), { turnId })
  log.append(session, 'MESSAGE_RECEIVED', { ...received(id), text: delivery.text, by: USER }, { turnId })
  delivery.status = 'APPLIED'
  log.append(session, 'DELIVERY_SETTLED', settled(id, 'APPLIED', turnId, null), { turnId })
  log.append(session, 'STEP_STARTED', { model: 'fake/echo' }, step)
  const text = `you said: ${delivery.text}`
  const blockId: BlockId = brand(`blk_${turnId}`)
  for (let offset = 0; offset < text.length; offset += 6) {
    log.append(session, 'LLM_CHUNK', { blockId, offset, text: text.slice(offset, offset + 6) }, step)
    await tick()
    if (session.agent === 'held' && offset === 6) await released
  }
  if (session.agent === 'failing') {
    log.append(session, 'STEP_FAILED', { error: FAILURE }, step)
    log.append(session, 'TURN_FAILED', { output: null, error: FAILURE, reason: null, usage: USAGE, latencyMs: 3 }, { turnId })
  } else {
    log.append(session, 'MESSAGE_COMPLETED', { blockId, text, finishReason: 'STOP', interrupted: false }, step)
    log.append(session, 'STEP_COMPLETED', { finishReason: 'STOP', usage: USAGE }, step)
    log.append(session, 'TURN_COMPLETED', { output: text, error: null, reason: null, usage: USAGE, latencyMs: 3 }, { turnId })
  }
  log.append(session, 'SESSION_WAITING', { usage: USAGE })
}

/** Ids of the fake are made here; the server's types want their brand. */
export function brand<Branded extends string>(id: string): Branded {
  return id as Branded
}

function started(number: number, delivery: string): EventFields['TURN_STARTED'] {
  return { number, deliveries: [brand(delivery)], trigger: 'MESSAGE', principal: USER }
}

function received(delivery: string): Pick<EventFields['MESSAGE_RECEIVED'], 'delivery'> {
  return { delivery: brand(delivery) }
}

function settled(id: string, status: 'APPLIED' | 'REJECTED', turn: string | null, reason: string | null): EventFields['DELIVERY_SETTLED'] {
  return { delivery: brand(id), status, turn: turn === null ? null : brand(turn), reason }
}

function toTypeName(type: EventType): string {
  return type.toLowerCase().replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
