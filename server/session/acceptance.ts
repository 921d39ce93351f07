/** What a store is asked to accept, a session or a delivery, and what it answers: R1's first door. */
import type { Json } from '../errors.js'
import type { DeliveryId, RequestId, SessionId } from '../ids.js'
import type { DeliveryContent } from './deliveries.js'
import type { HistoryItem } from './history.js'
import type { Principal } from './principal.js'
import type { SessionMode } from './session.js'
import type { SessionStatus } from './status.js'

export interface NewSession {
  readonly id: SessionId
  readonly agent: string
  readonly mode: SessionMode
  /** Null: it may be idle for ever. */
  readonly idleTimeoutMs: number | null
  readonly owner: Principal
  readonly title: string | null
  readonly metadata: { readonly [key: string]: Json }
  readonly addresses: readonly string[]
  readonly deployment: string
  /** An earlier conversation, user and assistant items only. */
  readonly history: readonly HistoryItem[]
  readonly createdAt: number
  readonly firstDelivery: NewDelivery | null
  readonly idempotency: IdempotencyKey | null
}
export interface NewDelivery {
  readonly id: DeliveryId
  readonly by: Principal
  readonly content: DeliveryContent
  readonly acceptedAt: number
}
/** As it stands in the inbox. */
export interface AcceptedDelivery extends NewDelivery {
  readonly position: number
}
/** Scoped to (tenant, principal) of `by`. `hash` is over what was asked: the same key with another hash is a mismatch. */
export interface IdempotencyKey {
  readonly by: Principal
  readonly key: string
  readonly hash: string
}

export interface NewAddress {
  readonly sessionId: SessionId
  /** `channel:value` */
  readonly address: string
  readonly claimedAt: number
  /** How many a session may hold. */
  readonly most: number
}
/** `claimed`: also when it held the address already. `taken`, `full`: nothing was changed. */
export type ClaimAddressOutcome =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'taken'; readonly holder: SessionId }
  | { readonly kind: 'full' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'not-found' }

/** The first effect of a key, found again. */
export interface Duplicate {
  readonly kind: 'duplicate'
  readonly sessionId: SessionId
  readonly deliveryId: DeliveryId | null
}
export type CreateOutcome =
  | { readonly kind: 'created'; readonly sessionId: SessionId; readonly deliveryId: DeliveryId | null }
  | Duplicate
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'address-taken'; readonly address: string; readonly holder: SessionId }
export type DeliverOutcome =
  | {
      readonly kind: 'accepted'
      readonly sessionId: SessionId
      readonly deliveryId: DeliveryId
      readonly position: number
      readonly status: SessionStatus
    }
  | Duplicate
  | { readonly kind: 'mismatch' }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'ended' }
  /** Of answers: these requests are answered already, withdrawn or expired; nothing was accepted. */
  | { readonly kind: 'not-pending'; readonly requests: readonly RequestId[] }
