/**
 * A SessionStore in memory, with the behaviour of the real one but for its durability: for tests of what stands on the port. Every
 * call is atomic because nothing in it waits; the injected clock judges leases. Values go in and out as copies.
 */
import type { Clock } from '../../server/clock.js'
import { PerdureError } from '../../server/errors.js'
import type { CallId, DeliveryId, SessionId } from '../../server/ids.js'
import { NEW_CHECKPOINT_PHASE, isEndedPhase, openTurnOf, type Checkpoint } from '../../server/session/checkpoint.js'
import type { CallRow, Commit } from '../../server/session/commit.js'
import { isControl, type Delivery } from '../../server/session/deliveries.js'
import type { NewEvent, RecordedEvent } from '../../server/session/events.js'
import type { HistoryItem } from '../../server/session/history.js'
import type {
  AppendOutcome,
  ClaimOptions,
  CommitOutcome,
  CreateOutcome,
  DeliverOutcome,
  Duplicate,
  IdempotencyKey,
  NewDelivery,
  NewSession,
  SessionStore,
} from '../../server/session/ports.js'
import type { Lease, Session, SessionFacts } from '../../server/session/session.js'
import { AT_REST, type SessionStatus } from '../../server/session/status.js'
import { NO_USAGE } from '../../server/session/usage.js'
import { checkCommit } from '../../server/store/check-commit.js'
import { toJson, toText } from '../../server/store/json-column.js'

interface Entry {
  readonly facts: SessionFacts
  readonly addresses: readonly string[]
  status: SessionStatus
  checkpoint: Checkpoint
  epoch: number
  revision: number
  lease: { readonly owner: string; until: number } | null
  wakeAt: number | null
  control: number
  readonly deliveries: Delivery[]
  readonly settled: Set<DeliveryId>
  readonly calls: Map<CallId, CallRow>
  readonly history: Map<number, HistoryItem[]>
  readonly events: RecordedEvent[]
}
interface Memory {
  readonly clock: Clock
  readonly sessions: Map<SessionId, Entry>
  readonly keys: Map<string, Duplicate & { readonly hash: string }>
}

export function createMemoryStore(clock: Clock): SessionStore {
  const memory: Memory = { clock, sessions: new Map(), keys: new Map() }
  const { sessions } = memory
  return {
    createSession: async (session) => createSession(memory, copy(session)),
    deliver: async (id, delivery, key) => deliver(memory, id, copy(delivery), key),
    findKey: async (key) => findKey(memory, key),
    findAddress: async (tenant, address) => findHolder(memory, tenant, address),
    claim: async (id, options) => claim(memory, id, options),
    loadDeliveries: async (id, after) => unsettled(sessions.get(id), after),
    loadHistory: async (id, epoch) => [...(sessions.get(id)?.history.get(epoch) ?? [])],
    commit: async (session, change, ttlMs) => commit(memory, session, copy(change), ttlMs),
    appendEvents: async (batches, ttlMs) =>
      new Map(batches.map((batch) => [batch.lease.sessionId, append(memory, batch.lease, copy(batch.events), ttlMs)])),
    renew: async (leases, ttlMs) => new Map(leases.flatMap((lease) => renew(memory, lease, ttlMs))),
    release: async (leases) => {
      for (const lease of leases) giveBack(memory, held(memory, lease))
    },
    releaseAll: async () => {
      const leased = [...sessions.values()].filter((entry) => entry.lease !== null)
      for (const entry of leased) giveBack(memory, entry)
      return leased.length
    },
    sweep: async ({ agents, limit }) =>
      [...sessions.values()]
        .filter((entry) => isDue(memory, entry) && agents.includes(entry.facts.agent))
        .sort((one, other) => (one.wakeAt ?? 0) - (other.wakeAt ?? 0))
        .slice(0, limit)
        .map((entry) => entry.facts.id),
    readEvents: async (id, after, limit) => (sessions.get(id)?.events ?? []).slice(after, after + limit),
    readTails: async (ids) => new Map(ids.flatMap((id) => (sessions.has(id) ? [[id, toTail(sessions.get(id))] as const] : []))),
  }
}

function createSession(memory: Memory, session: NewSession): CreateOutcome {
  const { id, agent, owner, deployment, metadata, title, firstDelivery, idempotency } = session
  const first = idempotency === null ? null : findKey(memory, idempotency)
  if (first !== null) return first
  for (const address of session.addresses) {
    const holder = findHolder(memory, owner.tenant, address)
    if (holder !== null) return { kind: 'address-taken', address, holder }
  }
  const entry: Entry = {
    facts: { id, agent, tenant: owner.tenant, owner, deployment, metadata, title },
    addresses: session.addresses,
    status: 'CREATED',
    checkpoint: { turns: 0, historyEpoch: 0, historyLength: session.history.length, usage: NO_USAGE, phase: NEW_CHECKPOINT_PHASE },
    epoch: 0,
    revision: 0,
    lease: null,
    wakeAt: null,
    control: 0,
    deliveries: [],
    settled: new Set(),
    calls: new Map(),
    history: new Map([[0, [...session.history]]]),
    events: [],
  }
  memory.sessions.set(id, entry)
  if (firstDelivery !== null) accept(memory, entry, firstDelivery)
  remember(memory, idempotency, { kind: 'duplicate', sessionId: id, deliveryId: firstDelivery?.id ?? null })
  return { kind: 'created', sessionId: id, deliveryId: firstDelivery?.id ?? null }
}

function deliver(memory: Memory, id: SessionId, delivery: NewDelivery, key: IdempotencyKey | null): DeliverOutcome {
  const first = key === null ? null : findKey(memory, key)
  if (first !== null) return first
  const entry = memory.sessions.get(id)
  if (entry === undefined) return { kind: 'not-found' }
  if (isEndedPhase(entry.checkpoint)) return { kind: 'ended' }
  accept(memory, entry, delivery)
  remember(memory, key, { kind: 'duplicate', sessionId: id, deliveryId: delivery.id })
  return { kind: 'accepted', sessionId: id, deliveryId: delivery.id, status: entry.status }
}

function accept(memory: Memory, entry: Entry, { id, by, content, acceptedAt }: NewDelivery): void {
  const position = entry.deliveries.length + 1
  entry.deliveries.push({ ...content, id, by, position, acceptedAt, openTurnId: openTurnOf(entry.checkpoint)?.id ?? null })
  entry.wakeAt = memory.clock.now()
  if (isControl(content.kind)) entry.control = position
  if (content.kind === 'MESSAGE' && AT_REST.includes(entry.status)) entry.status = 'RUNNING'
}

function findKey(memory: Memory, key: IdempotencyKey): Duplicate | { readonly kind: 'mismatch' } | null {
  const found = memory.keys.get(toScope(key))
  if (found === undefined) return null
  return found.hash === key.hash ? { kind: 'duplicate', sessionId: found.sessionId, deliveryId: found.deliveryId } : { kind: 'mismatch' }
}

function remember(memory: Memory, key: IdempotencyKey | null, first: Duplicate): void {
  if (key !== null) memory.keys.set(toScope(key), { ...first, hash: key.hash })
}

function toScope({ by, key }: IdempotencyKey): string {
  return JSON.stringify([by.tenant, by.id, by.kind, key].map(toText))
}

function findHolder(memory: Memory, tenant: string, address: string): SessionId | null {
  const [holderTenant, wanted] = [toText(tenant), toText(address)]
  for (const { facts, addresses, checkpoint } of memory.sessions.values()) {
    if (facts.tenant === holderTenant && !isEndedPhase(checkpoint) && addresses.includes(wanted)) return facts.id
  }
  return null
}

function claim(memory: Memory, id: SessionId, { owner, ttlMs, agents }: ClaimOptions): Session | 'not-due' {
  const entry = memory.sessions.get(id)
  if (entry === undefined || !isDue(memory, entry) || !agents.includes(entry.facts.agent)) return 'not-due'
  entry.epoch += 1
  entry.lease = { owner, until: 0 }
  extend(memory, entry, ttlMs)
  const { facts, revision, status, checkpoint, control } = entry
  const open = checkpoint.phase.kind === 'acting' ? checkpoint.phase.step.id : null
  return copy({
    facts,
    lease: { sessionId: id, owner, epoch: entry.epoch },
    revision,
    status,
    checkpoint,
    deliveries: unsettled(entry, 0),
    inbox: entry.deliveries.length,
    control,
    calls: new Map([...entry.calls].filter(([, call]) => call.stepId === open)),
  })
}

function isDue(memory: Memory, { checkpoint, lease, wakeAt }: Entry): boolean {
  const now = memory.clock.now()
  return !isEndedPhase(checkpoint) && wakeAt !== null && wakeAt <= now && (lease === null || lease.until <= now)
}

function unsettled(entry: Entry | undefined, after: number): readonly Delivery[] {
  if (entry === undefined) return []
  return entry.deliveries.filter((delivery) => delivery.position > after && !entry.settled.has(delivery.id))
}

function commit(memory: Memory, session: Session, change: Commit, ttlMs: number): CommitOutcome {
  checkCommit(session, change)
  const { id } = session.facts
  const entry = memory.sessions.get(id)
  if (entry === undefined || entry.epoch !== session.lease.epoch) return { kind: 'fenced' }
  const { length } = change.events
  if (entry.revision === session.revision + 1) return { kind: 'committed', events: length === 0 ? [] : entry.events.slice(-length) }
  if (entry.revision !== session.revision) {
    throw new PerdureError('INTERNAL', `a commit to session ${id} builds on revision ${session.revision}, it is at ${entry.revision}`)
  }
  if (isOverlooked(entry, session, change)) return { kind: 'moved', arrived: unsettled(entry, session.inbox) }
  apply(memory, entry, change, ttlMs)
  return { kind: 'committed', events: record(entry, change.events) }
}

function isOverlooked(entry: Entry, session: Session, { guard }: Commit): boolean {
  if (guard === 'inbox') return entry.deliveries.length !== session.inbox
  return guard === 'control' && entry.control !== session.control
}

function apply(memory: Memory, entry: Entry, change: Commit, ttlMs: number): void {
  const { checkpoint, history, park } = change
  entry.revision += 1
  entry.checkpoint = checkpoint
  if (change.session !== null) entry.status = change.session.status
  for (const delivery of change.settled) entry.settled.add(delivery.id)
  for (const call of [...change.newCalls, ...change.changedCalls]) entry.calls.set(call.id, call)
  entry.history.set(checkpoint.historyEpoch, [...(entry.history.get(checkpoint.historyEpoch) ?? []), ...history])
  if (park === null && !isEndedPhase(checkpoint)) {
    extend(memory, entry, ttlMs)
  } else {
    entry.lease = null
    entry.wakeAt = isEndedPhase(checkpoint) ? null : (park?.wakeAt ?? null)
  }
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

function append(memory: Memory, lease: Lease, events: readonly NewEvent[], ttlMs: number): AppendOutcome {
  const entry = held(memory, lease)
  if (entry === null) return { kind: 'fenced' }
  extend(memory, entry, ttlMs)
  return { kind: 'appended', events: record(entry, events) }
}

function renew(memory: Memory, lease: Lease, ttlMs: number): [SessionId, { inbox: number; control: number }][] {
  const entry = held(memory, lease)
  if (entry === null) return []
  extend(memory, entry, ttlMs)
  return [[lease.sessionId, { inbox: entry.deliveries.length, control: entry.control }]]
}

function held(memory: Memory, lease: Lease): Entry | null {
  const entry = memory.sessions.get(lease.sessionId)
  return entry?.epoch === lease.epoch && entry.lease?.owner === lease.owner ? entry : null
}

function extend(memory: Memory, entry: Entry, ttlMs: number): void {
  const until = memory.clock.now() + ttlMs
  if (entry.lease !== null) entry.lease.until = until
  entry.wakeAt = until
}

function giveBack(memory: Memory, entry: Entry | null): void {
  if (entry === null) return
  entry.lease = null
  entry.wakeAt = memory.clock.now()
}

function toTail(entry: Entry | undefined): { readonly position: number; readonly ended: boolean } {
  return { position: entry?.events.length ?? 0, ended: entry !== undefined && isEndedPhase(entry.checkpoint) }
}

/** As it would come back from the database; maps are kept. */
function copy<Value extends object>(value: Value): Value {
  const stored: unknown = JSON.parse(toJson(value))
  return restoreMaps(value, stored) as Value
}

function restoreMaps(value: object, stored: unknown): unknown {
  const maps = Object.entries(value).filter((field): field is [string, Map<unknown, unknown>] => field[1] instanceof Map)
  if (maps.length === 0 || typeof stored !== 'object') return stored
  return { ...stored, ...Object.fromEntries(maps.map(([name, map]) => [name, structuredClone(map)])) }
}
