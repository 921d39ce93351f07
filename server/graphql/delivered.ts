/** What was just handed over, as the row that the database has of it: nothing is read for the answer of a mutation. */
import type { Delivery } from '../generated/prisma/client.js'
import type { SessionId } from '../ids.js'
import type { AcceptedDelivery } from '../session/acceptance.js'

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
    content: { ...content },
    openTurnId: null,
    status: 'ACCEPTED',
    turnId: null,
    rejection: null,
    acceptedAt: new Date(acceptedAt),
    settledAt: null,
  }
}
