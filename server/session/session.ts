/**
 * A session as its driver holds it: the checkpoint with what was read beside it. A value: `applyCommit` gives the next one.
 */
import type { Json } from '../errors.js'
import type { CallId, SessionId, WorkerId } from '../ids.js'
import type { Checkpoint } from './checkpoint.js'
import type { CallRow, Commit } from './commit.js'
import { isControl, type Delivery } from './deliveries.js'
import type { Principal } from './principal.js'
import type { Request } from './requests.js'
import type { SessionState } from './state.js'
import { AT_REST, type SessionStatus } from './status.js'

export const SESSION_MODES = ['CONVERSATION', 'TASK'] as const
/** TASK: the end of its first turn is the end of the session. */
export type SessionMode = (typeof SESSION_MODES)[number]

export interface SessionFacts {
  readonly id: SessionId
  readonly agent: string
  readonly mode: SessionMode
  readonly tenant: string
  readonly owner: Principal
  readonly deployment: string
  /** How long it may be idle before it ends by itself, milliseconds; null: for ever. */
  readonly idleTimeoutMs: number | null
  readonly metadata: { readonly [key: string]: Json }
  readonly title: string | null
}

/** The right to drive: fences every write (R2). */
export interface Lease {
  readonly sessionId: SessionId
  readonly owner: WorkerId
  readonly epoch: number
}

export interface Session {
  readonly facts: SessionFacts
  readonly lease: Lease
  readonly revision: number
  readonly status: SessionStatus
  readonly checkpoint: Checkpoint
  /** Unsettled deliveries, by position. */
  readonly deliveries: readonly Delivery[]
  /** Position of the newest delivery seen, and of the newest control seen. */
  readonly inbox: number
  readonly control: number
  /** When it has been idle for too long: counted from the newest delivery, or from the end of a turn. Null: never. */
  readonly expiresAt: number | null
  /** Rows of the calls of the open step, with their inputs and results. */
  readonly calls: ReadonlyMap<CallId, CallRow>
  /** What it asks of people, in the order it was asked. */
  readonly requests: readonly Request[]
  /** The author's. */
  readonly state: SessionState
  /** Claims since the newest commit, this one included; 0 after a commit. Many: its drivers die or fail before they get anywhere. */
  readonly claims: number
}

/** What a claim gives: the clock of an open turn stood still while nobody drove it. */
export function resumeClock(session: Session, now: number): Session {
  const { phase } = session.checkpoint
  if (!('turn' in phase) || phase.turn.activeSince === null) return session
  return { ...session, checkpoint: { ...session.checkpoint, phase: { ...phase, turn: { ...phase.turn, activeSince: now } } } }
}

/** What the session is after a commit that was applied. */
export function applyCommit(session: Session, commit: Commit): Session {
  const settled = new Set(commit.settled.map((delivery) => delivery.id))
  const answered = new Set(commit.settledRequests.map((request) => request.id))
  return {
    ...session,
    revision: session.revision + 1,
    status: commit.session?.status ?? session.status,
    expiresAt: commit.closedTurn === null ? session.expiresAt : idleUntil(session, commit.closedTurn.endedAt),
    checkpoint: commit.checkpoint,
    deliveries: session.deliveries.filter((delivery) => !settled.has(delivery.id)),
    calls: nextCalls(session.calls, commit),
    requests: [...session.requests, ...commit.newRequests].filter((request) => !answered.has(request.id)),
    state: commit.state ?? session.state,
    claims: 0,
  }
}

function nextCalls(calls: ReadonlyMap<CallId, CallRow>, commit: Commit): ReadonlyMap<CallId, CallRow> {
  const { phase } = commit.checkpoint
  if (phase.kind !== 'acting') return new Map()
  const next = new Map(calls)
  for (const row of [...commit.newCalls, ...commit.changedCalls]) next.set(row.id, row)
  return next
}

/** The idle window begins anew at `at`, unless it reaches further already. */
export function idleUntil({ facts: { idleTimeoutMs }, expiresAt }: Pick<Session, 'facts' | 'expiresAt'>, at: number): number | null {
  return idleTimeoutMs === null ? null : Math.max(expiresAt ?? 0, at + idleTimeoutMs)
}

/** What the session is when deliveries turn up that it had not seen. A message moved it to RUNNING when it was accepted at rest. */
export function addDeliveries(session: Session, arrived: readonly Delivery[]): Session {
  const fresh = arrived.filter((delivery) => delivery.position > session.inbox)
  if (fresh.length === 0) return session
  return {
    ...session,
    status: AT_REST.includes(session.status) && fresh.some((one) => one.kind === 'MESSAGE') ? 'RUNNING' : session.status,
    deliveries: [...session.deliveries, ...fresh],
    expiresAt: idleUntil(session, Math.max(...fresh.map(({ acceptedAt }) => acceptedAt))),
    inbox: Math.max(session.inbox, ...fresh.map((delivery) => delivery.position)),
    control: Math.max(session.control, ...fresh.filter((one) => isControl(one.kind)).map((one) => one.position)),
  }
}
