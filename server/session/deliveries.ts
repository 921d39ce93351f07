/** What somebody hands to a session: durable and numbered before the mutation returns, applied or rejected once (R4). */
import type { DeliveryId, TurnId } from '../ids.js'
import type { Principal } from './principal.js'

export const DELIVERY_KINDS = ['MESSAGE', 'CANCEL', 'END'] as const
export type DeliveryKind = (typeof DELIVERY_KINDS)[number]
export const TURN_POLICIES = ['STEER', 'QUEUE'] as const
export type TurnPolicy = (typeof TURN_POLICIES)[number]

export interface MessageContent {
  readonly kind: 'MESSAGE'
  readonly text: string
  readonly policy: TurnPolicy
}
export interface CancelContent {
  readonly kind: 'CANCEL'
  /** Cancels only this turn; null: whichever is open, or will be started by messages before it. */
  readonly turnId: TurnId | null
  readonly dropQueued: boolean
}
export interface EndContent {
  readonly kind: 'END'
  readonly reason: string | null
}
export type DeliveryContent = MessageContent | CancelContent | EndContent

interface Accepted {
  readonly id: DeliveryId
  /** Dense within the session, from 1. */
  readonly position: number
  readonly by: Principal
  /** The turn that was open when it was accepted, as the database saw it under the session's lock. */
  readonly openTurnId: TurnId | null
  readonly acceptedAt: number
}
export type DeliveryOf<Content extends DeliveryContent> = Accepted & Content
export type Delivery = DeliveryOf<MessageContent> | DeliveryOf<CancelContent> | DeliveryOf<EndContent>
export type Message = DeliveryOf<MessageContent>
export type Control = DeliveryOf<CancelContent> | DeliveryOf<EndContent>

/** Controls overtake whatever runs: a commit that starts an effect is refused while one is unseen (R4). */
export function isControl(kind: DeliveryKind): boolean {
  return kind !== 'MESSAGE'
}
