/** Codec: events as the generated fragment selects them, to the generated union. */
import type { SessionEvent } from './generated/session-events.js'

/** Takes the type's suffix off the fields that had to be selected under an alias (`reason_TurnFailed`). */
export function toSessionEvent(selected: { readonly __typename: string }): SessionEvent {
  const event: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(selected)) {
    const suffix = key.indexOf('_', 1)
    event[suffix > 1 ? key.slice(0, suffix) : key] = value
  }
  return event as unknown as SessionEvent
}

/** The end of a session: nothing comes after it. */
export function isSessionEnd(event: SessionEvent): boolean {
  return event.type === 'SESSION_COMPLETED' || event.type === 'SESSION_FAILED' || event.type === 'SESSION_CANCELLED'
}
