/**
 * A SessionStore in memory, with the behaviour of the real one but for its durability: for tests of what stands on the port. Every
 * call is atomic because nothing in it waits; the injected clock judges leases. Values go in and out as copies.
 */
import type { Clock } from '../../server/clock.js'
import type { Json } from '../../server/errors.js'
import type { DeliveryId, SessionId } from '../../server/ids.js'
import type {
  ClaimAddressOutcome,
  CreateOutcome,
  DeliverOutcome,
  Duplicate,
  IdempotencyKey,
  NewDelivery,
  NewSession,
} from '../../server/session/acceptance.js'
import { NEW_CHECKPOINT_PHASE, isEndedPhase, openTurnOf } from '../../server/session/checkpoint.js'
import { isControl, type AnswersContent } from '../../server/session/deliveries.js'
import type { ClaimOptions, SessionStore } from '../../server/session/ports.js'
import { idleUntil, type Session } from '../../server/session/session.js'
import { AT_REST } from '../../server/session/status.js'
import { NO_USAGE } from '../../server/session/usage.js'
import { toJson, toText } from '../../server/store/json-column.js'
import {
  append,
  commit,
  extend,
  free,
  giveBack,
  held,
  isDue,
  openRequests,
  pauseMs,
  renew,
  toGrant,
  unsettled,
  type Entry,
  type Memory,
} from './memory-session.js'

export function createMemoryStore(clock: Clock): SessionStore {
  const memory: Memory = { clock, sessions: new Map(), keys: new Map() }
  const { sessions } = memory
  return {
    createSession: async (session) => createSession(memory, copy(session)),
    deliver: async (id, delivery, key) => deliver(memory, id, copy(delivery), key),
    findKey: async (key) => findKey(memory, key),
    findAddress: async (tenant, address) => findHolder(memory, tenant, address),
    claimAddress: async ({ sessionId, address, most }) => claimAddress(memory, sessionId, toText(address), most),
    releaseAddress: async (id, address) => {
      sessions.get(id)?.addresses.delete(toText(address))
    },
    claim: async (id, options) => claim(memory, id, options),
    loadDeliveries: async (id, after) => unsettled(sessions.get(id), after),
    loadHistory: async (id, epoch) => [...(sessions.get(id)?.history.get(epoch) ?? [])],
    hasGrant: async (id, tool, to) => sessions.get(id)?.grants.has(toGrant(tool, to)) ?? false,
    loadMemo: async (id, key) => copyMemo(sessions.get(id)?.memos.get(toText(key))),
    saveMemo: async (lease, { key, value }) => saveMemo(held(memory, lease), toText(key), value),
    commit: async (session, change, ttlMs) => commit(memory, session, copy(change), ttlMs),
    appendEvents: async (batches, ttlMs) =>
      new Map(batches.map((batch) => [batch.lease.sessionId, append(memory, batch.lease, copy(batch.events), ttlMs)])),
    renew: async (leases, ttlMs) => new Map(leases.flatMap((lease) => renew(memory, lease, ttlMs))),
    release: async (leases, why) => {
      for (const lease of leases) giveBack(memory, held(memory, lease), why)
    },
    releaseAll: async () => {
      const leased = [...sessions.values()].filter((entry) => entry.lease !== null)
      for (const entry of leased) free(memory, entry)
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
  const { id, agent, mode, owner, deployment, metadata, title, idleTimeoutMs, firstDelivery, idempotency } = session
  const first = idempotency === null ? null : findKey(memory, idempotency)
  if (first !== null) return first
  for (const address of session.addresses) {
    const holder = findHolder(memory, owner.tenant, address)
    if (holder !== null) return { kind: 'address-taken', address, holder }
  }
  const entry: Entry = {
    facts: { id, agent, mode, tenant: owner.tenant, owner, deployment, metadata, title, idleTimeoutMs },
    expiresAt: idleTimeoutMs === null ? null : session.createdAt + idleTimeoutMs,
    addresses: new Set(session.addresses),
    status: 'CREATED',
    checkpoint: { turns: 0, historyEpoch: 0, historyLength: session.history.length, usage: NO_USAGE, phase: NEW_CHECKPOINT_PHASE },
    epoch: 0,
    claims: 0,
    revision: 0,
    lease: null,
    wakeAt: idleTimeoutMs === null ? null : memory.clock.now() + idleTimeoutMs,
    control: 0,
    deliveries: [],
    settled: new Set(),
    calls: new Map(),
    requests: new Map(),
    grants: new Set(),
    history: new Map([[0, [...session.history]]]),
    events: [],
    memos: new Map(),
    state: {},
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
  const refused = delivery.content.kind === 'ANSWERS' ? reserve(memory, entry, delivery.id, delivery.content) : null
  if (refused !== null) return refused
  accept(memory, entry, delivery)
  remember(memory, key, { kind: 'duplicate', sessionId: id, deliveryId: delivery.id })
  return { kind: 'accepted', sessionId: id, deliveryId: delivery.id, position: entry.deliveries.length, status: entry.status }
}

/** All of them or none; null: they are held now. */
function reserve({ clock }: Memory, entry: Entry, by: DeliveryId, { answers }: AnswersContent): DeliverOutcome | null {
  const found = answers.map(({ requestId }) => entry.requests.get(requestId))
  const asked = found.filter((request) => request !== undefined)
  const closed = asked.filter(({ request, status, reservedBy }) => {
    return status !== 'PENDING' || reservedBy !== null || (request.expiresAt !== null && request.expiresAt <= clock.now())
  })
  if (closed.length > 0) return { kind: 'not-pending', requests: closed.map(({ request }) => request.id) }
  if (asked.length < found.length) return { kind: 'not-found' }
  for (const request of asked) request.reservedBy = by
  return null
}

function accept(memory: Memory, entry: Entry, { id, by, content, acceptedAt }: NewDelivery): void {
  const position = entry.deliveries.length + 1
  entry.deliveries.push({ ...content, id, by, position, acceptedAt, openTurnId: openTurnOf(entry.checkpoint)?.id ?? null })
  entry.wakeAt = memory.clock.now()
  entry.expiresAt = idleUntil(entry, acceptedAt)
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
    if (facts.tenant === holderTenant && !isEndedPhase(checkpoint) && addresses.has(wanted)) return facts.id
  }
  return null
}

function claimAddress(memory: Memory, id: SessionId, address: string, most: number): ClaimAddressOutcome {
  const entry = memory.sessions.get(id)
  if (entry === undefined) return { kind: 'not-found' }
  if (isEndedPhase(entry.checkpoint)) return { kind: 'ended' }
  const holder = findHolder(memory, entry.facts.tenant, address)
  if (holder !== null) return holder === id ? { kind: 'claimed' } : { kind: 'taken', holder }
  if (entry.addresses.size >= most) return { kind: 'full' }
  entry.addresses.add(address)
  return { kind: 'claimed' }
}

function claim(memory: Memory, id: SessionId, { owner, ttlMs, agents }: ClaimOptions): Session | 'not-due' {
  const entry = memory.sessions.get(id)
  if (entry === undefined || !isDue(memory, entry) || !agents.includes(entry.facts.agent)) return 'not-due'
  entry.epoch += 1
  entry.lease = { owner, until: 0 }
  extend(memory, entry, ttlMs)
  if (entry.claims > 0) entry.wakeAt = memory.clock.now() + ttlMs + pauseMs(entry.claims)
  entry.claims += 1
  const { facts, revision, claims, status, checkpoint, control, expiresAt, state } = entry
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
    expiresAt,
    state,
    requests: openRequests(entry),
    calls: new Map([...entry.calls].filter(([, call]) => call.stepId === open)),
    claims,
  })
}

function copyMemo(stored: string | undefined): { readonly value: Json } | null {
  return stored === undefined ? null : (JSON.parse(stored) as { readonly value: Json })
}

function saveMemo(entry: Entry | null, key: string, value: Json): 'kept' | 'there' | 'fenced' {
  if (entry === null) return 'fenced'
  if (entry.memos.has(key)) return 'there'
  entry.memos.set(key, toJson({ value }))
  return 'kept'
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
