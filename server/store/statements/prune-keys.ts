/**
 * prune-keys: forgets idempotency keys of a session: those older than seven days, but for its newest 1,024.
 * In: session. Out: nothing.
 *
 * Asked for at every 256th delivery with a key (deliver.ts), so that a session never has many more; what it reads is what it keeps.
 */
import type { SessionId } from '../../ids.js'
import { defineStatement, type Database } from '../database.js'
import { toText } from '../json-column.js'

const KEPT_DAYS = 7
const KEPT_KEYS = 1024

const PRUNE_KEYS = defineStatement<Record<string, never>>(
  'prune-keys',
  `DELETE FROM idempotency
WHERE session_id = $1 AND created_at < LEAST(
  clock_timestamp() - interval '${KEPT_DAYS} days',
  (SELECT created_at FROM idempotency WHERE session_id = $1 ORDER BY created_at DESC OFFSET ${KEPT_KEYS - 1} LIMIT 1))`,
)

export async function pruneKeys(database: Database, sessionId: SessionId): Promise<void> {
  await database.query(PRUNE_KEYS, [toText(sessionId)])
}
