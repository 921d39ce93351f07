/**
 * read-tails: how far logs are.
 * In: sessions. Out: newest position of each and whether it is still open; unknown ones are missing.
 */
import type { SessionId } from '../../ids.js'
import type { LogTail } from '../../session/ports.js'
import { defineStatement, type Database } from '../database.js'
import { toText } from '../json-column.js'

interface TailRow {
  readonly session_id: SessionId
  readonly last_seq: number
  readonly open: boolean
}

const READ_TAILS = defineStatement<TailRow>(
  'read-tails',
  'SELECT session_id, last_seq, open FROM session_head WHERE session_id = ANY($1::text[])',
)

export async function readTails(database: Database, sessionIds: readonly SessionId[]): Promise<ReadonlyMap<SessionId, LogTail>> {
  if (sessionIds.length === 0) return new Map()
  const rows = await database.query(READ_TAILS, [sessionIds.map(toText)])
  return new Map(rows.map((row) => [row.session_id, { position: row.last_seq, ended: !row.open }]))
}
