/**
 * has-grant: whether a tool was allowed to a person for the rest of a session.
 * In: session, tool, person. Out: a row, or none.
 */
import type { SessionId } from '../../ids.js'
import type { Principal } from '../../session/principal.js'
import { defineStatement, type Database } from '../database.js'
import { toText } from '../json-column.js'

const HAS_GRANT = defineStatement<{ readonly tool: string }>(
  'has-grant',
  `SELECT tool FROM approval_grant
WHERE session_id = $1 AND tool = $2 AND principal_id = $3 AND principal_kind = $4::"PrincipalKind"`,
)

export async function hasGrant(database: Database, sessionId: SessionId, tool: string, { id, kind }: Principal): Promise<boolean> {
  const [row] = await database.query(HAS_GRANT, [toText(sessionId), toText(tool), toText(id), toText(kind)])
  return row !== undefined
}
