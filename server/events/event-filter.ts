/** Which events of a log a subscriber is sent. */
import { STREAMED_TYPES, type EventType, type RecordedEvent } from '../session/events.js'

export interface EventFilter {
  /** Equal for filters that pass the same types: what was filtered for one may be sent to the other. */
  readonly key: string
  /** Those that pass, in order; the same array when all do. */
  select(events: readonly RecordedEvent[]): readonly RecordedEvent[]
}

/** Without them a reader of streamed text could not take back what an attempt left unfinished (E4). */
const RETRACTIONS: readonly EventType[] = ['STEP_INTERRUPTED', 'STEP_RETRYING']
const RETRACTED: readonly EventType[] = STREAMED_TYPES.filter((type) => type !== 'TOOL_CALL_PROGRESS')

const ALL: EventFilter = { key: '*', select: (events) => events }

/** Passes these types, and what retracts them; without `types` everything. */
export function createEventFilter(types: ReadonlySet<EventType> | undefined): EventFilter {
  if (types === undefined) return ALL
  const passing = new Set(types)
  if (RETRACTED.some((type) => types.has(type))) for (const type of RETRACTIONS) passing.add(type)
  const passes = (event: RecordedEvent): boolean => passing.has(event.type)
  return {
    key: [...passing].sort().join(),
    select: (events) => (events.every(passes) ? events : events.filter(passes)),
  }
}
