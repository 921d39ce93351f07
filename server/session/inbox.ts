/** What the unsettled deliveries of a session ask for, in the order of their positions. */
import { openTurnOf, type Checkpoint } from './checkpoint.js'
import { isControl, type CancelContent, type Control, type Delivery, type DeliveryOf, type Message } from './deliveries.js'
import { DELIVERY_TABLE, formOf, type Condition, type Treatment } from './delivery-table.js'
import { isSamePrincipal } from './principal.js'

export interface Inbox {
  readonly checkpoint: Checkpoint
  /** Unsettled, by position. */
  readonly deliveries: readonly Delivery[]
}

/** The oldest control: it overtakes whatever else waits. */
export function firstControl({ deliveries }: Inbox): Control | null {
  return deliveries.find((delivery): delivery is Control => isControl(delivery.kind)) ?? null
}

/** The messages that the table treats so. */
export function messagesTo(treatment: Treatment, condition: Condition, { checkpoint, deliveries }: Inbox): readonly Message[] {
  const row = DELIVERY_TABLE[condition]
  return deliveries.filter(
    (delivery): delivery is Message => delivery.kind === 'MESSAGE' && row[formOf(checkpoint, delivery)].does === treatment,
  )
}

/**
 * The messages that start the next turn: the oldest, and those right behind it from the same person. Anonymous callers never fold, and
 * none folds across something else that waits for its turn.
 */
export function foldable({ deliveries }: Inbox): readonly Message[] {
  const [first, ...others] = deliveries.filter((delivery) => !isControl(delivery.kind))
  if (first?.kind !== 'MESSAGE') return []
  if (first.by.kind === 'ANONYMOUS') return [first]
  const folded = [first]
  for (const other of others) {
    if (other.kind !== 'MESSAGE' || !isSamePrincipal(other.by, first.by)) break
    folded.push(other)
  }
  return folded
}

/**
 * Which turn a cancel is bound to: the one it names; else the one that was open when it was accepted; else the one that messages
 * before it will start (`unstarted`). Bound to anything else it has no effect.
 */
export function cancels(inbox: Inbox, cancel: DeliveryOf<CancelContent>): 'open' | 'unstarted' | null {
  const open = openTurnOf(inbox.checkpoint)
  const bound = cancel.turnId ?? cancel.openTurnId
  if (bound !== null) return open?.id === bound ? 'open' : null
  const waiting = foldable(inbox)[0]
  return open === null && waiting !== undefined && waiting.position < cancel.position ? 'unstarted' : null
}
