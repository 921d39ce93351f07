/**
 * Written events on their way to the subscribers of other processes: `<version> <process> <JSON>`. A version that is not ours, as while
 * a release rolls out, is passed over: the events are in the log.
 */
import type { RecordedEvent } from '../session/events.js'

const VERSION = '1'

export function encodeEvents(from: string, events: readonly RecordedEvent[]): string {
  return `${VERSION} ${from} ${JSON.stringify(events)}`
}

/** Null for what this process has sent itself, and for what it cannot read. */
export function decodeEvents(self: string, message: string): readonly RecordedEvent[] | null {
  const [version, from] = message.split(' ', 2)
  if (version !== VERSION || from === undefined || from === self) return null
  try {
    const events: unknown = JSON.parse(message.slice(version.length + from.length + 2))
    return Array.isArray(events) && events.every(isEvent) ? events : null
  } catch {
    return null
  }
}

/** Whoever may publish on our Redis is one of us: it is enough that it looks like an event. */
function isEvent(value: unknown): value is RecordedEvent {
  return typeof value === 'object' && value !== null && 'type' in value && 'position' in value && typeof value.position === 'number'
}
