/**
 * look: what a commit that did not match needs to know.
 * In: session, position. Out: epoch, owner, revision, newest committer and log position of the head, the unsettled deliveries after the position.
 */
import type { SessionId } from '../../ids.js'
import type { Delivery } from '../../session/deliveries.js'
import { defineStatement, type Database } from '../database.js'
import { selectDeliveries, toDelivery, type DeliveryRow } from '../delivery-row.js'
import { toText } from '../json-column.js'

interface LookRow {
  readonly epoch: number
  readonly owner: string | null
  readonly revision: number
  readonly committed_by: string | null
  readonly last_seq: number
  readonly tenant: string
  readonly arrived: readonly DeliveryRow[]
}
export interface Look {
  readonly epoch: number
  /** Null when the lease was given back. */
  readonly owner: string | null
  readonly revision: number
  readonly committedBy: string | null
  readonly lastSeq: number
  readonly arrived: readonly Delivery[]
}

const LOOK = defineStatement<LookRow>(
  'look',
  `SELECT h.epoch, h.owner, h.revision, h.committed_by, h.last_seq, s.tenant, ${selectDeliveries('h.session_id', '$2')} AS arrived
FROM session_head h JOIN session s ON s.id = h.session_id WHERE h.session_id = $1`,
)

export async function look(database: Database, sessionId: SessionId, after: number): Promise<Look | null> {
  const [row] = await database.query(LOOK, [toText(sessionId), after])
  if (row === undefined) return null
  const { epoch, owner, revision, tenant } = row
  return {
    epoch,
    owner,
    revision,
    committedBy: row.committed_by,
    lastSeq: row.last_seq,
    arrived: row.arrived.map((delivery) => toDelivery(tenant, delivery)),
  }
}
