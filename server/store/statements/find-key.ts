/**
 * find-key: the first effect of an idempotency key.
 * In: tenant, principal, key. Out: session, delivery and hash of what was asked, or no row.
 */
import type { DeliveryId, SessionId } from '../../ids.js'
import type { Duplicate, IdempotencyKey } from '../../session/acceptance.js'
import { defineStatement, type Database } from '../database.js'
import { toText, type SqlValue } from '../json-column.js'

export interface KeyRow {
  readonly session_id: SessionId
  readonly delivery_id: DeliveryId | null
  readonly hash: string
}

const FIND_KEY = defineStatement<KeyRow>(
  'find-key',
  `SELECT session_id, delivery_id, hash FROM idempotency
WHERE tenant = $1 AND principal_id = $2 AND principal_kind = $3::"PrincipalKind" AND key = $4`,
)

export async function findKey(database: Database, key: IdempotencyKey): Promise<Duplicate | { readonly kind: 'mismatch' } | null> {
  const [row] = await database.query(FIND_KEY, toKeyValues(key))
  return row === undefined ? null : toDuplicate(key, row)
}

export function toKeyValues(key: IdempotencyKey): readonly SqlValue[] {
  return [toText(key.by.tenant), toText(key.by.id), toText(key.by.kind), toText(key.key)]
}

export function toDuplicate(key: IdempotencyKey, row: KeyRow): Duplicate | { readonly kind: 'mismatch' } {
  if (row.hash !== key.hash) return { kind: 'mismatch' }
  return { kind: 'duplicate', sessionId: row.session_id, deliveryId: row.delivery_id }
}
