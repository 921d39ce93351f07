import { builder } from '../builder.js'
import { checkWrite, handOver } from '../deliver.js'
import { checkInput } from '../input-checks.js'
import { refToTarget } from '../targets.js'
import { CompactInput } from './inputs.js'
import { CompactResult } from './results.js'

builder.mutationField('compact', (t) =>
  t.field({
    type: CompactResult,
    description:
      "Summarises the model's history, once no turn is open. This release does not yet: its delivery is REJECTED with COMPACTION_UNAVAILABLE.",
    args: { input: t.arg({ type: CompactInput, required: true, description: 'What to compact.' }) },
    resolve: async (_, { input }, context) => {
      const refused = checkWrite(context) ?? checkInput('compact', input)
      if (refused !== null) return refused
      return handOver(
        context,
        refToTarget(input.session),
        { kind: 'COMPACT', instructions: input.instructions ?? null },
        input.idempotencyKey ?? null,
      )
    },
  }),
)
