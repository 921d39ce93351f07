/**
 * read-events: a page of a session's log.
 * In: session, position, limit. Out: the events after it, in order.
 */
import type { SessionId } from '../../ids.js'
import type { RecordedEvent } from '../../session/events.js'
import { defineStatement, type Database } from '../database.js'
import { EVENT_COLUMNS, toEvent, type EventRow } from '../event-row.js'
import { toText } from '../json-column.js'

const READ_EVENTS = defineStatement<EventRow>(
  'read-events',
  `SELECT ${EVENT_COLUMNS} FROM event WHERE session_id = $1 AND position > $2 ORDER BY position LIMIT $3`,
)

export async function readEvents(
  database: Database,
  sessionId: SessionId,
  after: number,
  limit: number,
): Promise<readonly RecordedEvent[]> {
  const rows = await database.query(READ_EVENTS, [toText(sessionId), after, limit])
  return rows.map((row) => toEvent(sessionId, row))
}
