/** A writer on a clock that stands still, with a store that can be scripted, and what came of it. */
import { createEventWriter, type EventWriterOptions } from '../../server/events/writer.js'
import type { RecordedEvent, StreamedEvent } from '../../server/session/events.js'
import { createFakeClock } from './fake-clock.js'
import { createLogStore, leaseOf, sessionNamed } from './log-store.js'

export const ONE = sessionNamed('one')
export const TWO = sessionNamed('two')
export const THREE = sessionNamed('three')

export function openWriter(options: Partial<EventWriterOptions> = {}) {
  const clock = createFakeClock()
  const store = createLogStore()
  const published: RecordedEvent[] = []
  const warnings: string[] = []
  const fenced: string[] = []
  const log = { warn: (message: string) => warnings.push(message), error: (message: string) => warnings.push(message) }
  const coordinator = { publish: (_: unknown, events: readonly RecordedEvent[]) => published.push(...events) }
  const writer = createEventWriter({ store, coordinator, clock, ttlMs: 30_000, log, ...options })
  const stream = (sessionId = ONE, epoch = 1) =>
    writer.open(leaseOf(sessionId, epoch), { onFenced: () => fenced.push(`${sessionId}#${epoch}`) })
  return { clock, store, published, warnings, fenced, writer, stream }
}

/** What an event says, short. */
export function brief(event: StreamedEvent | RecordedEvent): string {
  switch (event.type) {
    case 'LLM_CHUNK':
    case 'LLM_REASONING':
      return `${event.data.blockId.slice(4)}@${event.data.offset}:${event.data.text}`
    case 'LLM_TOOL_INPUT':
      return `${event.data.callId.slice(5)}@${event.data.offset}:${event.data.text}`
    case 'TOOL_CALL_PROGRESS':
      return `${event.data.callId.slice(5)}=${JSON.stringify(event.data.output)}`
    default:
      return event.type
  }
}
