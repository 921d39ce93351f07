/** An event between its row and its value. */
import type { SessionId, TurnId } from '../ids.js'
import type { EventFields, EventType, NewEvent, RecordedEvent } from '../session/events.js'
import { asStored, toJson, type SafeText } from './json-column.js'

export const EVENT_VERSION = 1

export interface EventRow {
  readonly position: number
  readonly type: EventType
  readonly turn_id: TurnId | null
  readonly step_index: number | null
  readonly attempt: number | null
  readonly ends_write: boolean
  readonly data: EventFields[EventType]
  readonly at: number
}

export const EVENT_COLUMNS = `position, type, turn_id, step_index, attempt, ends_write, data, (extract(epoch FROM at) * 1000)::float8 AS at`

/** What a record of events in JSON holds for each: the columns without position. */
export const EVENT_RECORD = 'type text, turn_id text, step_index int, attempt int, data jsonb, at float8'

/** Events as a record set. */
export function toEventRecords(events: readonly NewEvent[]): SafeText {
  return toJson(events.map(toEventRecord))
}

export function toEventRecord(event: NewEvent): object {
  return {
    type: event.type,
    turn_id: event.turnId,
    step_index: event.stepIndex,
    attempt: event.attempt,
    data: event.data,
    at: event.at,
  }
}

export function toEvent(sessionId: SessionId, row: EventRow): RecordedEvent {
  // A row was written from a NewEvent: its data is that of its type.
  return {
    sessionId,
    position: row.position,
    endsWrite: row.ends_write,
    type: row.type,
    turnId: row.turn_id,
    stepIndex: row.step_index,
    attempt: row.attempt,
    at: row.at,
    data: row.data,
  } as RecordedEvent
}

/** What was just written, as JSON in `written`, at the positions up to `last`: the same that a reader of the log gets. */
export function placeEvents(
  sessionId: SessionId,
  { events, written, last }: { readonly events: readonly NewEvent[]; readonly written: SafeText; readonly last: number },
): readonly RecordedEvent[] {
  const first = last - events.length + 1
  return asStored(events, written).map((event, index) => ({
    ...event,
    sessionId,
    position: first + index,
    endsWrite: index === events.length - 1,
  }))
}
