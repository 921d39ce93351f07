/**
 * append-events: streamed events of many sessions between their commits.
 * In: leases, each with its events; time to live.
 * Out: for each batch the position of its last event when it was written; else whether its lease still holds.
 *
 * Heads are locked in the order of their ids and a locked one is skipped: two appends never wait for each other, and none waits
 * for a commit. The lock tests the lease on the newest version; the UPDATE does so again.
 */
import type { SessionId } from '../../ids.js'
import type { AppendBatch, AppendOutcome } from '../../session/ports.js'
import { defineStatement, type Database } from '../database.js'
import { EVENT_RECORD, EVENT_VERSION, placeEvents, toEventRecord } from '../event-row.js'
import { toJson, toMoment, type SafeText } from '../json-column.js'
import { LEASE_RECORD } from '../lease-row.js'

interface AppendRow {
  readonly batch: number
  readonly last_seq: number | null
  readonly held: boolean
}

const APPEND_EVENTS = defineStatement<AppendRow>(
  'append-events',
  `WITH batches AS (
  SELECT * FROM json_to_recordset($1::json) AS b(batch int, size int, events json, ${LEASE_RECORD})
), mine AS (
  SELECT b.* FROM batches b JOIN session_head h ON h.session_id = b.session_id AND h.epoch = b.epoch AND h.owner = b.owner AND h.open
  WHERE h.session_id = ANY(ARRAY(SELECT session_id FROM batches))
  ORDER BY h.session_id FOR NO KEY UPDATE OF h SKIP LOCKED
), head AS (
  UPDATE session_head h SET
    last_seq = h.last_seq + mine.size,
    lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  FROM mine WHERE h.session_id = mine.session_id AND h.epoch = mine.epoch AND h.owner IS NOT NULL AND h.open
  RETURNING h.session_id, h.last_seq, mine.batch, mine.size, mine.events
), event_rows AS (
  INSERT INTO event (session_id, position, type, turn_id, step_index, attempt, ends_write, version, data, at)
  SELECT head.session_id, head.last_seq - head.size + e.ordinal, e.type, e.turn_id, e.step_index, e.attempt, e.ordinal = head.size,
    ${EVENT_VERSION}, e.data, ${toMoment('e.at')}
  FROM head, ROWS FROM (json_to_recordset(head.events) AS (${EVENT_RECORD})) WITH ORDINALITY
    AS e(type, turn_id, step_index, attempt, data, at, ordinal)
)
SELECT b.batch, head.last_seq,
  EXISTS (SELECT FROM session_head h WHERE h.session_id = b.session_id AND h.epoch = b.epoch AND h.owner = b.owner AND h.open) AS held
FROM batches b LEFT JOIN head ON head.batch = b.batch`,
)

export async function appendEvents(
  database: Database,
  batches: readonly AppendBatch[],
  ttlMs: number,
): Promise<ReadonlyMap<SessionId, AppendOutcome>> {
  if (batches.length === 0) return new Map()
  const records = batches.map(({ lease, events }, batch) => ({
    batch,
    size: events.length,
    events: events.map(toEventRecord),
    session_id: lease.sessionId,
    epoch: lease.epoch,
    owner: lease.owner,
  }))
  const written = toJson(records)
  const rows = await database.query(APPEND_EVENTS, [written, ttlMs])
  const byBatch = new Map(rows.map((row) => [row.batch, row]))
  return new Map(batches.map((batch, index) => [batch.lease.sessionId, toOutcome(batch, written, byBatch.get(index))]))
}

/** `held` is as old as the statement's start; a lease only ever ends, so false is certain and true is worth another try. */
function toOutcome({ lease, events }: AppendBatch, written: SafeText, row: AppendRow | undefined): AppendOutcome {
  if (row === undefined) return { kind: 'fenced' }
  if (row.last_seq !== null) {
    return { kind: 'appended', events: placeEvents(lease.sessionId, { events, written, last: row.last_seq }) }
  }
  return { kind: row.held ? 'busy' : 'fenced' }
}
