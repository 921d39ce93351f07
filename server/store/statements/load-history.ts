/**
 * load-history: what the model reads.
 * In: session, history epoch. Out: its items in order.
 */
import type { SessionId } from '../../ids.js'
import type { HistoryItem } from '../../session/history.js'
import { defineStatement, type Database } from '../database.js'
import { toText } from '../json-column.js'

const LOAD_HISTORY = defineStatement<{ readonly item: HistoryItem }>(
  'load-history',
  'SELECT item FROM history WHERE session_id = $1 AND epoch = $2 ORDER BY position',
)

export async function loadHistory(database: Database, sessionId: SessionId, epoch: number): Promise<readonly HistoryItem[]> {
  const rows = await database.query(LOAD_HISTORY, [toText(sessionId), epoch])
  return rows.map((row) => row.item)
}
