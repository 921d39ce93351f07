/**
 * The door for everything that comes from outside (R1): creates sessions and puts deliveries into their inboxes, durably and
 * once per idempotency key, then wakes whoever has to look. GraphQL and the channels call it; whether the caller may see the
 * session is theirs to ask first.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../clock.js'
import type { Json } from '../errors.js'
import type { DeliveryId, IdSource, RequestId, SessionId } from '../ids.js'
import type { AcceptedDelivery, ClaimAddressOutcome, Duplicate, IdempotencyKey, NewDelivery } from './acceptance.js'
import type { DeliveryContent } from './deliveries.js'
import type { HistoryItem } from './history.js'
import type { Coordinator, SessionStore } from './ports.js'
import type { Principal } from './principal.js'
import type { SessionMode } from './session.js'

/** How often racing callers look again before they give up. */
const MAX_LOOKS = 5

export interface SessionSpec {
  readonly agent: string
  /** Null: as the agent has it. */
  readonly mode: SessionMode | null
  /** Milliseconds; 0: never, null: as the agent has it. */
  readonly idleTimeoutMs: number | null
  readonly title: string | null
  readonly metadata: { readonly [key: string]: Json }
  readonly addresses: readonly string[]
  readonly history: readonly HistoryItem[]
}
export type SendTarget =
  | { readonly kind: 'session'; readonly sessionId: SessionId }
  | { readonly kind: 'create'; readonly spec: SessionSpec }
  /** Whoever holds the address; without `create`, `not-found` when nobody does. */
  | {
      readonly kind: 'address'
      readonly address: string
      readonly create: SessionSpec | null
      /** Asked about the holder, whoever that is by then: false is `not-found`. Missing: everybody may reach everybody. */
      readonly mayReach?: (holder: SessionId) => Promise<boolean>
    }

/** `created`: this call made the session. `duplicate`: the key had been used; this is its first effect, whatever became of it. */
export type IntakeOutcome =
  | {
      readonly kind: 'accepted'
      readonly sessionId: SessionId
      readonly deliveryId: DeliveryId | null
      /** What this call put into the inbox; null when it did not. */
      readonly delivery: AcceptedDelivery | null
      readonly created: boolean
      readonly duplicate: boolean
    }
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'ended'; readonly sessionId: SessionId }
  | { readonly kind: 'address-taken'; readonly address: string; readonly holder: SessionId }
  /** Of answers: these requests are not open any more; nothing was accepted. */
  | { readonly kind: 'not-pending'; readonly sessionId: SessionId; readonly requests: readonly RequestId[] }
  /** Racing callers kept winning; nothing was written. */
  | { readonly kind: 'busy' }

export interface Intake {
  /** Creates a session and parks it before its first turn. */
  create(by: Principal, spec: SessionSpec, key: string | null): Promise<IntakeOutcome>
  /** The session holds `channel:value` from now on; a session holds `most` at most. */
  claimAddress(sessionId: SessionId, address: string, most: number): Promise<ClaimAddressOutcome>
  /** Nothing when the session does not hold it. */
  releaseAddress(sessionId: SessionId, address: string): Promise<void>
  /** Delivers to an open session, to the holder of an address, or to a new session. */
  deliver(by: Principal | Relayed, target: SendTarget, content: DeliveryContent, key: string | null): Promise<IntakeOutcome>
}

/** The words of one that another hands over: the key is the relay's, and so is a session that is created. */
export interface Relayed {
  readonly relay: Principal
  readonly author: Principal
}

export interface Lifetime {
  readonly mode: SessionMode
  /** Milliseconds; null: never. */
  readonly idleTimeoutMs: number | null
}

export interface IntakeOptions {
  readonly store: SessionStore
  readonly coordinator: Coordinator
  readonly clock: Clock
  readonly ids: IdSource
  readonly deployment: string
  /** How long sessions of the agent last when nobody says otherwise. */
  readonly lifetimeOf: (agent: string) => Lifetime
}

export function createIntake(options: IntakeOptions): Intake {
  const { coordinator } = options

  function woken(outcome: IntakeOutcome): IntakeOutcome {
    if (outcome.kind === 'accepted' && !outcome.duplicate) {
      if (outcome.deliveryId !== null) coordinator.wake(outcome.sessionId)
      coordinator.announce(outcome.sessionId)
    }
    return outcome
  }

  return {
    async create(by, spec, key) {
      return woken(await open(options, spec, { by, delivery: null, idempotency: toKey(by, key, { create: spec }) }))
    },
    async claimAddress(sessionId, address, most) {
      const outcome = await options.store.claimAddress({ sessionId, address, most, claimedAt: options.clock.now() })
      if (outcome.kind === 'claimed') coordinator.announce(sessionId)
      return outcome
    },
    async releaseAddress(sessionId, address) {
      await options.store.releaseAddress(sessionId, address)
      coordinator.announce(sessionId)
    },
    async deliver(from, target, content, key) {
      const { relay: by, author } = 'relay' in from ? from : { relay: from, author: from }
      const asked = { target, content: toAsked(content) }
      const idempotency = toKey(by, key, author === by ? asked : { ...asked, author })
      for (let looks = 0; looks < MAX_LOOKS; looks += 1) {
        const delivery = { id: options.ids.next('dlv'), by: author, content, acceptedAt: options.clock.now() }
        const outcome = await deliverOnce(options, target, { by, delivery, idempotency })
        if (outcome !== 'look-again') return woken(outcome)
      }
      return { kind: 'busy' }
    },
  }
}

/** What somebody asks for, ready to be written. */
interface Asked<Delivery> {
  readonly by: Principal
  readonly delivery: Delivery
  readonly idempotency: IdempotencyKey | null
}

/** The key with a hash over everything that was asked, so that the same key for something else is told apart. */
function toKey(by: Principal, key: string | null, asked: object): IdempotencyKey | null {
  if (key === null) return null
  return { by, key, hash: createHash('sha256').update(JSON.stringify(asked)).digest('hex') }
}

/** What a sender may is not of what he asks: it may have changed when he asks again. */
function toAsked(content: DeliveryContent): object {
  return content.kind === 'MESSAGE' ? { ...content, authority: undefined } : content
}

/** `look-again`: the address changed hands between the look and the write. */
async function deliverOnce(options: IntakeOptions, target: SendTarget, asked: Asked<NewDelivery>): Promise<IntakeOutcome | 'look-again'> {
  switch (target.kind) {
    case 'session':
      return deliverTo(options, target.sessionId, asked)
    case 'create':
      return open(options, target.spec, asked)
    case 'address':
      return deliverToAddress(options, target, asked)
  }
}

async function deliverToAddress(
  options: IntakeOptions,
  target: Extract<SendTarget, { kind: 'address' }>,
  asked: Asked<NewDelivery>,
): Promise<IntakeOutcome | 'look-again'> {
  const { address, create, mayReach } = target
  const holder = await options.store.findAddress(asked.by.tenant, address)
  if (holder !== null) {
    if (mayReach !== undefined && !(await mayReach(holder))) return findFirst(options, asked.idempotency)
    const outcome = await deliverTo(options, holder, asked)
    return outcome.kind === 'ended' ? 'look-again' : outcome
  }
  if (create === null) return findFirst(options, asked.idempotency)
  const addresses = [address, ...create.addresses.filter((other) => other !== address)]
  const outcome = await open(options, { ...create, addresses }, asked)
  return outcome.kind === 'address-taken' && outcome.address === address ? 'look-again' : outcome
}

/** Nobody within reach holds the address any more; the key may still name what was done when somebody did. */
async function findFirst(options: IntakeOptions, idempotency: IdempotencyKey | null): Promise<IntakeOutcome> {
  const first = idempotency === null ? null : await options.store.findKey(idempotency)
  if (first === null) return { kind: 'not-found' }
  return first.kind === 'mismatch' ? first : again(first)
}

async function deliverTo(options: IntakeOptions, sessionId: SessionId, asked: Asked<NewDelivery>): Promise<IntakeOutcome> {
  const outcome = await options.store.deliver(sessionId, asked.delivery, asked.idempotency)
  switch (outcome.kind) {
    case 'accepted': {
      const delivery = { ...asked.delivery, position: outcome.position }
      return { ...outcome, delivery, created: false, duplicate: false }
    }
    case 'duplicate':
      return again(outcome)
    case 'ended':
    case 'not-pending':
      return { ...outcome, sessionId }
    default:
      return outcome
  }
}

async function open(options: IntakeOptions, spec: SessionSpec, asked: Asked<NewDelivery | null>): Promise<IntakeOutcome> {
  const lifetime = options.lifetimeOf(spec.agent)
  const outcome = await options.store.createSession({
    ...spec,
    id: options.ids.next('ses'),
    mode: spec.mode ?? lifetime.mode,
    idleTimeoutMs: spec.idleTimeoutMs === null ? lifetime.idleTimeoutMs : spec.idleTimeoutMs || null,
    owner: asked.by,
    deployment: options.deployment,
    createdAt: options.clock.now(),
    firstDelivery: asked.delivery,
    idempotency: asked.idempotency,
  })
  switch (outcome.kind) {
    case 'created':
      return {
        ...outcome,
        kind: 'accepted',
        delivery: asked.delivery && { ...asked.delivery, position: 1 },
        created: true,
        duplicate: false,
      }
    case 'duplicate':
      return again(outcome)
    default:
      return outcome
  }
}

function again({ sessionId, deliveryId }: Duplicate): IntakeOutcome {
  return { kind: 'accepted', sessionId, deliveryId, delivery: null, created: false, duplicate: true }
}
