/** The driven side of the memory store: what stands of a session, its lease, and what a commit does to it. */
import type { Clock } from '../../server/clock.js'
import { PerdureError } from '../../server/errors.js'
import type { CallId, DeliveryId, RequestId, SessionId } from '../../server/ids.js'
import { isEndedPhase, type Checkpoint } from '../../server/session/checkpoint.js'
import type { CallRow, Commit } from '../../server/session/commit.js'
import type { Delivery } from '../../server/session/deliveries.js'
import type { RecordedAnswer, Request, RequestOutcome } from '../../server/session/requests.js'
import type { NewEvent, RecordedEvent } from '../../server/session/events.js'
import type { HistoryItem } from '../../server/session/history.js'
import type { Duplicate } from '../../server/session/acceptance.js'
import type { AppendOutcome, CommitOutcome, LeaseNews, ReleaseReason } from '../../server/session/ports.js'
import { CLAIM_PAUSE, retryDelayMs } from '../../server/session/retry.js'
import type { Principal } from '../../server/session/principal.js'
import type { Lease, Session, SessionFacts } from '../../server/session/session.js'
import type { SessionState } from '../../server/session/state.js'
import type { SessionStatus } from '../../server/session/status.js'
import { checkCommit } from '../../server/store/check-commit.js'

export interface Entry {
  readonly facts: SessionFacts
  readonly addresses: Set<string>
  status: SessionStatus
  checkpoint: Checkpoint
  epoch: number
  claims: number
  revision: number
  lease: { readonly owner: string; until: number } | null
  wakeAt: number | null
  control: number
  expiresAt: number | null
  readonly deliveries: Delivery[]
  readonly settled: Set<DeliveryId>
  readonly calls: Map<CallId, CallRow>
  readonly requests: Map<RequestId, StoredRequest>
  /** Tools with whom they are allowed to. */
  readonly grants: Set<string>
  readonly history: Map<number, HistoryItem[]>
  readonly events: RecordedEvent[]
  readonly memos: Map<string, string>
  state: SessionState
}
export interface StoredRequest {
  readonly request: Request
  status: 'PENDING' | RequestOutcome
  reservedBy: DeliveryId | null
  answer: RecordedAnswer | null
}
export interface Memory {
  readonly clock: Clock
  readonly sessions: Map<SessionId, Entry>
  readonly keys: Map<string, Duplicate & { readonly hash: string }>
}

export function isDue(memory: Memory, { checkpoint, lease, wakeAt }: Entry): boolean {
  const now = memory.clock.now()
  return !isEndedPhase(checkpoint) && wakeAt !== null && wakeAt <= now && (lease === null || lease.until <= now)
}

export function unsettled(entry: Entry | undefined, after: number): readonly Delivery[] {
  if (entry === undefined) return []
  return entry.deliveries.filter((delivery) => delivery.position > after && !entry.settled.has(delivery.id))
}

export function commit(memory: Memory, session: Session, change: Commit, ttlMs: number): CommitOutcome {
  checkCommit(session, change)
  const { id } = session.facts
  const entry = memory.sessions.get(id)
  if (entry === undefined || entry.epoch !== session.lease.epoch) return { kind: 'fenced' }
  const { length } = change.events
  if (entry.revision === session.revision + 1) return { kind: 'committed', events: length === 0 ? [] : entry.events.slice(-length) }
  if (entry.revision !== session.revision) {
    throw new PerdureError('INTERNAL', `a commit to session ${id} builds on revision ${session.revision}, it is at ${entry.revision}`)
  }
  if (entry.lease?.owner !== session.lease.owner) return { kind: 'fenced' }
  if (isOverlooked(entry, session, change)) return { kind: 'moved', arrived: unsettled(entry, session.inbox) }
  apply(memory, entry, change, ttlMs)
  return { kind: 'committed', events: record(entry, change.events) }
}

function isOverlooked(entry: Entry, session: Session, { guard }: Commit): boolean {
  if (guard === 'inbox') return entry.deliveries.length !== session.inbox
  return guard === 'control' && entry.control !== session.control
}

function apply(memory: Memory, entry: Entry, change: Commit, ttlMs: number): void {
  const { checkpoint, history, historyFrom, park } = change
  entry.revision += 1
  entry.claims = 0
  entry.checkpoint = checkpoint
  entry.state = change.state ?? entry.state
  if (change.session !== null) entry.status = change.session.status
  if (change.session?.expiresAt != null) entry.expiresAt = Math.max(entry.expiresAt ?? 0, change.session.expiresAt)
  for (const delivery of change.settled) entry.settled.add(delivery.id)
  for (const request of change.newRequests) entry.requests.set(request.id, { request, status: 'PENDING', reservedBy: null, answer: null })
  for (const { id, status, answer } of change.settledRequests) Object.assign(entry.requests.get(id) ?? {}, { status, answer })
  for (const { tool, to } of change.grants) entry.grants.add(toGrant(tool, to))
  for (const call of [...change.newCalls, ...change.changedCalls]) entry.calls.set(call.id, call)
  entry.history.set(historyFrom.epoch, [...(entry.history.get(historyFrom.epoch) ?? []), ...history])
  if (park === null && !isEndedPhase(checkpoint)) {
    extend(memory, entry, ttlMs)
  } else {
    entry.lease = null
    entry.wakeAt = isEndedPhase(checkpoint) ? null : (park?.wakeAt ?? null)
  }
}

export function toGrant(tool: string, { id, kind }: Principal): string {
  return JSON.stringify([tool, kind, id])
}

export function openRequests(entry: Entry): readonly Request[] {
  return [...entry.requests.values()].flatMap(({ request, status }) => (status === 'PENDING' ? [request] : []))
}

function record(entry: Entry, events: readonly NewEvent[]): readonly RecordedEvent[] {
  const first = entry.events.length + 1
  const recorded = events.map((event, index) => ({
    ...event,
    sessionId: entry.facts.id,
    position: first + index,
    endsWrite: index === events.length - 1,
  }))
  entry.events.push(...recorded)
  return recorded
}

export function append(memory: Memory, lease: Lease, events: readonly NewEvent[], ttlMs: number): AppendOutcome {
  const entry = held(memory, lease)
  if (entry === null) return { kind: 'fenced' }
  extend(memory, entry, ttlMs)
  return { kind: 'appended', events: record(entry, events) }
}

export function renew(memory: Memory, lease: Lease, ttlMs: number): [SessionId, LeaseNews][] {
  const entry = held(memory, lease)
  if (entry === null) return []
  extend(memory, entry, ttlMs)
  return [[lease.sessionId, { inbox: entry.deliveries.length, control: entry.control }]]
}

export function held(memory: Memory, lease: Lease): Entry | null {
  const entry = memory.sessions.get(lease.sessionId)
  return entry?.epoch === lease.epoch && entry.lease?.owner === lease.owner ? entry : null
}

export function extend(memory: Memory, entry: Entry, ttlMs: number): void {
  const until = memory.clock.now() + ttlMs
  if (entry.lease !== null) entry.lease.until = until
  entry.wakeAt = until
}

export function giveBack(memory: Memory, entry: Entry | null, why: ReleaseReason): void {
  if (entry === null) return
  free(memory, entry)
  if (why === 'fault') entry.wakeAt = memory.clock.now() + pauseMs(entry.claims)
  else entry.claims = Math.max(0, entry.claims - 1)
}

export function free(memory: Memory, entry: Entry): void {
  entry.lease = null
  entry.wakeAt = memory.clock.now()
}

/** The real one's pause at its longest: without jitter. */
export function pauseMs(claims: number): number {
  return retryDelayMs(CLAIM_PAUSE, Math.max(1, claims), null, 1)
}
