/**
 * load-memo: a value that was kept for a session.
 * In: session, key. Out: the value, or no row.
 */
import type { Json } from '../../errors.js'
import type { SessionId } from '../../ids.js'
import { defineStatement, type Database } from '../database.js'
import { toText } from '../json-column.js'

interface MemoRow {
  readonly value: Json
}

const LOAD_MEMO = defineStatement<MemoRow>('load-memo', 'SELECT value FROM memo WHERE session_id = $1 AND key = $2')

export async function loadMemo(database: Database, sessionId: SessionId, key: string): Promise<{ readonly value: Json } | null> {
  const [row] = await database.query(LOAD_MEMO, [toText(sessionId), toText(key)])
  return row ?? null
}
