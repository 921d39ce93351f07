/**
 * release-address: a session does not hold an address any more.
 * In: session, address. Out: nothing; what another session holds is left alone.
 */
import type { SessionId } from '../../ids.js'
import { defineStatement, type Database } from '../database.js'
import { toText } from '../json-column.js'

const RELEASE_ADDRESS = defineStatement<never>(
  'release-address',
  `DELETE FROM address a USING session s
WHERE s.id = $1 AND a.tenant = s.tenant AND a.address = $2 AND a.session_id IS NOT DISTINCT FROM $1`,
)

export async function releaseAddress(database: Database, sessionId: SessionId, address: string): Promise<void> {
  await database.query(RELEASE_ADDRESS, [toText(sessionId), toText(address)])
}
