/**
 * find-address: who holds addresses.
 * In: tenant, addresses. Out: address and session of each that is held.
 */
import type { SessionId } from '../../ids.js'
import { defineStatement, type Database } from '../database.js'
import { toText } from '../json-column.js'

export interface HolderRow {
  readonly address: string
  readonly session_id: SessionId
}

const FIND_ADDRESS = defineStatement<HolderRow>(
  'find-address',
  'SELECT address, session_id FROM address WHERE tenant = $1 AND address = ANY($2::text[])',
)

export async function findHolders(database: Database, tenant: string, addresses: readonly string[]): Promise<readonly HolderRow[]> {
  return database.query(FIND_ADDRESS, [toText(tenant), addresses.map(toText)])
}

export async function findAddress(database: Database, tenant: string, address: string): Promise<SessionId | null> {
  const [row] = await findHolders(database, tenant, [address])
  return row?.session_id ?? null
}
