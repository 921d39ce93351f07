import { TERMINAL_TYPES, type RecordedEvent } from '../session/events.js'
import type { EventFilter } from './event-filter.js'

/** What a subscriber is sent: events of whole writes, and where it stands after them. An empty batch is a heartbeat or news of the cursor. */
export interface EventBatch {
  readonly events: readonly RecordedEvent[]
  /** Position after which to go on: everything up to it is known. */
  readonly cursor: number
  /** The end of the log, as it was when this was read or published, is reached. */
  readonly caughtUp: boolean
}

const TERMINAL: ReadonlySet<string> = new Set(TERMINAL_TYPES)

/** True when nothing follows in its log (E2). */
export function endsLog(event: RecordedEvent | undefined): boolean {
  return event !== undefined && TERMINAL.has(event.type)
}

/**
 * One published write, shared by all its subscribers: those with equal filters are sent the very same batch, so that whatever is
 * made of a batch can be made once.
 */
export class Publication {
  readonly events: readonly RecordedEvent[]
  readonly first: number
  readonly last: number
  readonly #batches = new Map<string, EventBatch>()

  /** Of at least one event, the last of which ends a write. */
  constructor(events: readonly RecordedEvent[]) {
    this.events = events
    this.first = events.at(0)?.position ?? 0
    this.last = events.at(-1)?.position ?? 0
  }

  batchFor(filter: EventFilter): EventBatch {
    const known = this.#batches.get(filter.key)
    if (known !== undefined) return known
    const batch: EventBatch = { events: filter.select(this.events), cursor: this.last, caughtUp: true }
    this.#batches.set(filter.key, batch)
    return batch
  }
}
