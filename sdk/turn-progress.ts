/** How far the turn of one delivery has come, folded from the session's events. Pure. */
import type { DeliverySettled, SessionEvent, TurnCancelled, TurnCompleted, TurnFailed } from './generated/session-events.js'

export interface TurnProgress {
  readonly deliveryId: string
  /** Null until the log has named the delivery. */
  readonly turnId: string | null
  /** Null also when the delivery joined a turn whose start was not seen. */
  readonly number: number | null
  /** The newest finished text of the agent. */
  readonly text: string | null
  /** Nothing of it runs, and people are waited for. Null: not known, for a delivery that joined it. */
  readonly asks: boolean | null
  /** What ended it. */
  readonly end: TurnCompleted | TurnFailed | TurnCancelled | DeliverySettled | null
}

export function startProgress(deliveryId: string): TurnProgress {
  return { deliveryId, turnId: null, number: null, text: null, asks: null, end: null }
}

/** The progress after an event; null when the event is of something else. */
export function advanceProgress(progress: TurnProgress, event: SessionEvent): TurnProgress | null {
  const named = nameTurn(progress, event)
  if (event.type === 'DELIVERY_SETTLED' && event.delivery === progress.deliveryId) {
    return event.status === 'REJECTED' ? { ...named, end: event } : named
  }
  if (named.turnId === null || event.turnId !== named.turnId) return null
  switch (event.type) {
    case 'MESSAGE_COMPLETED':
      return { ...named, text: event.text }
    case 'TURN_WAITING':
      return { ...named, asks: event.on === 'INPUT' || event.on === 'APPROVAL' || event.on === 'AUTHORIZATION' }
    case 'TURN_RESUMED':
      return { ...named, asks: false }
    case 'TURN_COMPLETED':
    case 'TURN_FAILED':
    case 'TURN_CANCELLED':
      return { ...named, end: event }
    default:
      return named
  }
}

/** The first event that names the delivery says which turn it is (H1). */
function nameTurn(progress: TurnProgress, event: SessionEvent): TurnProgress {
  if (progress.turnId !== null) return progress
  switch (event.type) {
    case 'TURN_STARTED':
      if (!event.deliveries.includes(progress.deliveryId)) return progress
      return { ...progress, turnId: event.turnId, number: event.number, asks: false }
    case 'MESSAGE_RECEIVED':
      return event.delivery === progress.deliveryId ? { ...progress, turnId: event.turnId } : progress
    case 'DELIVERY_SETTLED':
      return event.delivery === progress.deliveryId ? { ...progress, turnId: event.turn } : progress
    default:
      return progress
  }
}
