/**
 * Bare commit: what every ratio is measured against. The least that a durable step of anything costs on this database: one named
 * prepared statement that updates a session's head and appends one event, fenced by the epoch, one client, one after the other.
 */
import { defineStatement } from '../server/store/database.js'
import { toJson, toText } from '../server/store/json-column.js'
import type { Bench } from './bench.js'
import { createSeries, repeat, timed, type Series } from './series.js'
import { createSession } from './talk.js'

const BARE_COMMIT = defineStatement<{ readonly position: number }>(
  'bench-bare-commit',
  `WITH head AS (
  UPDATE session_head SET revision = revision + 1, last_seq = last_seq + $3 WHERE session_id = $1 AND epoch = $2 RETURNING session_id, last_seq
)
INSERT INTO event (session_id, position, type, ends_write, version, data, at)
SELECT head.session_id, head.last_seq - $3 + e.ordinal, e.v ->> 'type', true, 1, e.v -> 'data', clock_timestamp()
FROM head, jsonb_array_elements($4::jsonb) WITH ORDINALITY AS e(v, ordinal)
RETURNING position`,
)

export async function createBareCommit({ engine, sizes }: Bench): Promise<Series> {
  const { database } = engine
  const values = [toText(await createSession(engine)), 0, 1, toJson([{ type: 'STEP_STARTED', data: { model: 'bare' } }])]
  return createSeries(() =>
    repeat(sizes.bareCommits, () =>
      timed(async () => {
        const rows = await database.query(BARE_COMMIT, values)
        if (rows.length !== 1) throw new Error('a bare commit wrote nothing')
      }),
    ),
  )
}
