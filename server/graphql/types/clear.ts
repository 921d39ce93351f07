import { builder } from '../builder.js'
import { checkWrite, handOver } from '../deliver.js'
import { checkInput } from '../input-checks.js'
import { refToTarget } from '../targets.js'
import { ClearInput } from './inputs.js'
import { ClearResult } from './results.js'

builder.mutationField('clear', (t) =>
  t.field({
    type: ClearResult,
    description:
      "Empties the model's history; keeps the session, its state and its addresses. An open turn is cancelled first, and messages that wait are rejected.",
    args: { input: t.arg({ type: ClearInput, required: true, description: 'What to clear.' }) },
    resolve: async (_, { input }, context) => {
      const refused = checkWrite(context) ?? checkInput('clear', input)
      if (refused !== null) return refused
      return handOver(context, refToTarget(input.session), { kind: 'CLEAR' }, input.idempotencyKey ?? null)
    },
  }),
)
