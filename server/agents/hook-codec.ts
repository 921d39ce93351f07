/** From the hooks of an author, each typed for its event, to the one function that the engine calls for any event. */
import { WIRE_NAMES, type EventType } from '../session/events.js'
import { HOOKED_TYPES, type Hooks, type Notify } from '../session/hooks.js'

export function toNotify(hooks: Hooks): Notify {
  const byType = new Map<EventType, Notify>()
  for (const type of HOOKED_TYPES) {
    const hook = hooks[WIRE_NAMES[type]]
    // Found by the type of the event, which is the one that it takes.
    if (hook !== undefined) byType.set(type, hook as Notify)
  }
  return (event, context) => byType.get(event.type)?.(event, context)
}
