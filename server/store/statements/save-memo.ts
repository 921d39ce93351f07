/**
 * save-memo: keeps a value once for a session; the first one stays (R2).
 * In: lease, key, value, when. Out: whether the lease holds, and whether the value was kept.
 */
import type { Json } from '../../errors.js'
import type { Lease } from '../../session/session.js'
import { defineStatement, type Database } from '../database.js'
import { toJson, toMoment, toText } from '../json-column.js'

interface MemoRow {
  readonly held: boolean
  readonly kept: boolean
}

const SAVE_MEMO = defineStatement<MemoRow>(
  'save-memo',
  `WITH head AS (
  SELECT session_id FROM session_head WHERE session_id = $1 AND epoch = $2 AND owner = $3 AND open FOR SHARE
), saved AS (
  INSERT INTO memo (session_id, key, value, created_at)
  SELECT session_id, $4, $5::jsonb -> 'value', ${toMoment('$6::float8')} FROM head
  ON CONFLICT (session_id, key) DO NOTHING
  RETURNING 1
)
SELECT EXISTS (SELECT FROM head) AS held, EXISTS (SELECT FROM saved) AS kept`,
)

export async function saveMemo(
  database: Database,
  { sessionId, epoch, owner }: Lease,
  memo: { readonly key: string; readonly value: Json; readonly at: number },
): Promise<'kept' | 'there' | 'fenced'> {
  const values = [toText(sessionId), epoch, toText(owner), toText(memo.key), toJson({ value: memo.value }), memo.at]
  const [row] = await database.query(SAVE_MEMO, values)
  if (row?.held !== true) return 'fenced'
  return row.kept ? 'kept' : 'there'
}
