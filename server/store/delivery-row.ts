/** A delivery between its row and its value. */
import type { DeliveryId, TurnId } from '../ids.js'
import type { Delivery, DeliveryContent } from '../session/deliveries.js'
import type { PrincipalKind } from '../session/principal.js'
import { toPrincipal } from './principal-row.js'

export interface DeliveryRow {
  readonly id: DeliveryId
  readonly position: number
  readonly byId: string
  readonly byKind: PrincipalKind
  readonly byName: string | null
  readonly content: DeliveryContent
  readonly openTurnId: TurnId | null
  readonly acceptedAt: number
}

/** The unsettled deliveries of a session after a position, in order, as a JSON array. `session` and `after` are SQL expressions. */
export function selectDeliveries(session: string, after: string): string {
  return `COALESCE((
    SELECT json_agg(json_build_object(
      'id', d.id, 'position', d.position, 'byId', d.by_id, 'byKind', d.by_kind, 'byName', d.by_name, 'content', d.content,
      'openTurnId', d.open_turn_id, 'acceptedAt', (extract(epoch FROM d.accepted_at) * 1000)::bigint) ORDER BY d.position)
    FROM delivery d WHERE d.session_id = ${session} AND d.status = 'ACCEPTED' AND d.position > ${after}), '[]')`
}

export function toDelivery(tenant: string, row: DeliveryRow): Delivery {
  const { id, position, openTurnId, acceptedAt } = row
  const by = toPrincipal(tenant, { id: row.byId, kind: row.byKind, name: row.byName })
  return { ...row.content, id, position, by, openTurnId, acceptedAt }
}
