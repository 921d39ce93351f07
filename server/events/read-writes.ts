import type { SessionId } from '../ids.js'
import type { RecordedEvent } from '../session/events.js'
import type { SessionStore } from '../session/ports.js'

/** Events of whole writes, in order; `reachesTail`: nothing followed them when they were read. */
export interface LogPage {
  readonly events: readonly RecordedEvent[]
  readonly reachesTail: boolean
}

/**
 * Reads about a page of a log from after a position on, cut where a write ends; a write that is longer than a page is read to its
 * end. A short page needs no cut: writes are atomic, so what ends the log ends a write.
 */
export async function readWrites(
  store: Pick<SessionStore, 'readEvents'>,
  { sessionId, after, pageSize }: { readonly sessionId: SessionId; readonly after: number; readonly pageSize: number },
): Promise<LogPage> {
  let events: readonly RecordedEvent[] = []
  for (;;) {
    const page = await store.readEvents(sessionId, events.at(-1)?.position ?? after, pageSize)
    events = events.length === 0 ? page : [...events, ...page]
    if (page.length < pageSize) return { events, reachesTail: true }
    const lastEnd = events.findLastIndex((event) => event.endsWrite)
    if (lastEnd === events.length - 1) return { events, reachesTail: false }
    if (lastEnd >= 0) return { events: events.slice(0, lastEnd + 1), reachesTail: false }
  }
}
