import { builder } from '../builder.js'
import type { GraphqlContext } from '../context.js'
import { checkWrite, handOver, type HandedOver } from '../deliver.js'
import { checkInput } from '../input-checks.js'
import type { SessionEnded } from '../problems.js'
import { refToTarget } from '../targets.js'
import { EndInput } from './inputs.js'
import { EndResult } from './results.js'

builder.mutationField('end', (t) =>
  t.field({
    type: EndResult,
    description: 'Ends the session for good and releases its addresses. Repeating it gives the first end.',
    args: { input: t.arg({ type: EndInput, required: true, description: 'What to end.' }) },
    resolve: async (_, { input }, context) => {
      const refused = checkWrite(context) ?? checkInput('end', input)
      if (refused !== null) return refused
      const { session, reason, idempotencyKey } = input
      const result = await handOver(context, refToTarget(session), { kind: 'END', reason: reason ?? null }, idempotencyKey ?? null)
      return result.__typename === 'SessionEndedError' ? firstEnd(context, result) : result
    },
  }),
)

/** What ended the session; as it was, when nobody did. */
async function firstEnd(
  { services }: GraphqlContext,
  ended: SessionEnded,
): Promise<Exclude<HandedOver, { __typename: 'AddressTakenError' }>> {
  const { sessionId } = ended
  const first = await services.prisma.delivery.findFirst({
    where: { sessionId, kind: 'END', status: 'APPLIED' },
    orderBy: { position: 'asc' },
    select: { id: true },
  })
  return first === null ? ended : { __typename: 'DeliveryPayload', sessionId, deliveryId: first.id, delivery: null, duplicate: true }
}
