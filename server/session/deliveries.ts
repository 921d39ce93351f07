/** What somebody hands to a session: durable and numbered before the mutation returns, applied or rejected once (R4). */
import type { DeliveryId, TurnId } from '../ids.js'
import { isSamePrincipal, type Principal } from './principal.js'
import type { Answer } from './requests.js'

export const DELIVERY_KINDS = ['MESSAGE', 'ANSWERS', 'CANCEL', 'CLEAR', 'COMPACT', 'END'] as const
export type DeliveryKind = (typeof DELIVERY_KINDS)[number]
export const TURN_POLICIES = ['STEER', 'QUEUE'] as const
export type TurnPolicy = (typeof TURN_POLICIES)[number]

export interface MessageContent {
  readonly kind: 'MESSAGE'
  readonly text: string
  readonly policy: TurnPolicy
  /** The sender's roles and scopes, `role:x` and `scope:x`: what he says may answer a request. Missing: none. */
  readonly authority?: readonly string[]
}
/** Answers to open requests, checked when they were accepted, which reserved the requests. */
export interface AnswersContent {
  readonly kind: 'ANSWERS'
  readonly answers: readonly Answer[]
}
export interface CancelContent {
  readonly kind: 'CANCEL'
  /** Cancels only this turn; null: whichever is open, or will be started by messages before it. */
  readonly turnId: TurnId | null
  readonly dropQueued: boolean
}
/** Empties what the model reads; of an open turn, after it was cancelled. */
export interface ClearContent {
  readonly kind: 'CLEAR'
}
/** Summarises what the model reads, between turns. */
export interface CompactContent {
  readonly kind: 'COMPACT'
  /** What the summary should keep, in the sender's words. */
  readonly instructions: string | null
}
export interface EndContent {
  readonly kind: 'END'
  readonly reason: string | null
}
export type DeliveryContent = MessageContent | AnswersContent | CancelContent | ClearContent | CompactContent | EndContent

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
export type Message = DeliveryOf<MessageContent>
export type Answers = DeliveryOf<AnswersContent>
export type Compact = DeliveryOf<CompactContent>
export type Control = DeliveryOf<CancelContent> | DeliveryOf<ClearContent> | DeliveryOf<EndContent>
export type Delivery = Message | Answers | Compact | Control

/** Controls overtake whatever runs: a commit that starts an effect is refused while one is unseen (R4). */
export function isControl(kind: DeliveryKind): kind is Control['kind'] {
  return kind === 'CANCEL' || kind === 'CLEAR' || kind === 'END'
}

/** Whether it is the person whom the turn serves that speaks: nobody knows who is anonymous. */
export function isOfServed(message: Message, served: Principal): boolean {
  return message.by.kind !== 'ANONYMOUS' && isSamePrincipal(message.by, served)
}
