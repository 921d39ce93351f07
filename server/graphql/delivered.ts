/** What was handed over, and by whom. */
import type { Delivery } from '../generated/prisma/client.js'
import type { SessionId } from '../ids.js'
import type { AcceptedDelivery } from '../session/acceptance.js'
import type { Principal } from '../session/principal.js'
import type { Caller } from './caller.js'
import { toContentColumn } from './column-codec.js'

/** What was just handed over, as the row that the database has of it: nothing is read for the answer of a mutation. */
export function toDeliveryRow(sessionId: SessionId, { id, position, by, content, acceptedAt }: AcceptedDelivery): Delivery {
  return {
    id,
    sessionId,
    position,
    kind: content.kind,
    policy: content.kind === 'MESSAGE' ? content.policy : null,
    byId: by.id,
    byKind: by.kind,
    byName: by.name ?? null,
    content: toContentColumn(content),
    openTurnId: null,
    status: 'ACCEPTED',
    turnId: null,
    rejection: null,
    acceptedAt: new Date(acceptedAt),
    settledAt: null,
  }
}

/** Nobody sees a delivery of another tenant than his own. */
export function deliveredBy({ byId, byKind, byName }: Pick<Delivery, 'byId' | 'byKind' | 'byName'>, { tenant }: Caller): Principal {
  return { tenant, id: byId, kind: byKind, ...(byName !== null && { name: byName }) }
}
