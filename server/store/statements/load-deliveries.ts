/**
 * load-deliveries: what came into a session's inbox.
 * In: session, position. Out: the unsettled deliveries after it, in order.
 */
import type { SessionId } from '../../ids.js'
import type { Delivery } from '../../session/deliveries.js'
import { defineStatement, type Database } from '../database.js'
import { selectDeliveries, toDelivery, type DeliveryRow } from '../delivery-row.js'
import { toText } from '../json-column.js'

interface InboxRow {
  readonly tenant: string
  readonly deliveries: readonly DeliveryRow[]
}

const LOAD_DELIVERIES = defineStatement<InboxRow>(
  'load-deliveries',
  `SELECT s.tenant, ${selectDeliveries('s.id', '$2')} AS deliveries FROM session s WHERE s.id = $1`,
)

export async function loadDeliveries(database: Database, sessionId: SessionId, after: number): Promise<readonly Delivery[]> {
  const [row] = await database.query(LOAD_DELIVERIES, [toText(sessionId), after])
  return row === undefined ? [] : row.deliveries.map((delivery) => toDelivery(row.tenant, delivery))
}
