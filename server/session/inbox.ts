/** What the unsettled deliveries of a session ask for, in the order of their positions. */
import { openTurnOf } from './checkpoint.js'
import { isControl, type Answers, type CancelContent, type Control, type DeliveryOf, type Message } from './deliveries.js'
import { DELIVERY_TABLE, formOf, type Condition, type Inbox, type Treatment } from './delivery-table.js'
import { isSamePrincipal } from './principal.js'
import type { Request } from './requests.js'
import { answeredBy, type SpokenAnswer } from './spoken-answer.js'

/** The oldest control: it overtakes whatever else waits. */
export function firstControl({ deliveries }: Inbox): Control | null {
  return deliveries.find((delivery): delivery is Control => isControl(delivery.kind)) ?? null
}

/** What answers requests: first what was handed over as an answer, which holds its requests, then what answers them in words. */
export function firstAnswers({ deliveries, requests }: Inbox): Answers | SpokenAnswer | null {
  const answers = deliveries.find((delivery): delivery is Answers => delivery.kind === 'ANSWERS')
  if (answers !== undefined || requests.length === 0) return answers ?? null
  for (const delivery of deliveries) {
    const answer = delivery.kind === 'MESSAGE' ? answeredBy(delivery, requests) : null
    if (answer !== null) return answer
  }
  return null
}

/** Open requests that nobody has answered in time. */
export function expired({ requests }: Inbox, now: number): readonly Request[] {
  return requests.filter(({ expiresAt }) => expiresAt !== null && expiresAt <= now)
}

/** When the next open request expires; Infinity: none does. */
export function nextExpiry({ requests }: Inbox): number {
  return Math.min(...requests.map(({ expiresAt }) => expiresAt ?? Infinity))
}

/** The messages that the table treats so. */
export function messagesTo(treatment: Treatment, condition: Condition, inbox: Inbox): readonly Message[] {
  const row = DELIVERY_TABLE[condition]
  return inbox.deliveries.filter(
    (delivery): delivery is Message => delivery.kind === 'MESSAGE' && row[formOf(inbox, delivery)].does === treatment,
  )
}

/**
 * The messages that start the next turn: the oldest, and those right behind it from the same person. Anonymous callers never fold, and
 * none folds across something else that waits for its turn.
 */
export function foldable({ deliveries }: Inbox): readonly Message[] {
  const [first, ...others] = deliveries.filter(({ kind }) => !isControl(kind) && kind !== 'ANSWERS')
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
