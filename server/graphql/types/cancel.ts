import { storedId } from '../../ids.js'
import { builder } from '../builder.js'
import { checkWrite, handOver } from '../deliver.js'
import { checkInput } from '../input-checks.js'
import { refToTarget } from '../targets.js'
import { CancelInput } from './inputs.js'
import { CancelResult } from './results.js'

builder.mutationField('cancel', (t) =>
  t.field({
    type: CancelResult,
    description: 'Stops the running turn; the session stays open. Without an open turn: the one that messages before it will start.',
    args: { input: t.arg({ type: CancelInput, required: true, description: 'What to stop.' }) },
    resolve: async (_, { input }, context) => {
      const refused = checkWrite(context) ?? checkInput('cancel', input)
      if (refused !== null) return refused
      const { session, turnId, dropQueued, idempotencyKey } = input
      const content = { kind: 'CANCEL', turnId: turnId ? storedId('turn', turnId) : null, dropQueued } as const
      return handOver(context, refToTarget(session), content, idempotencyKey ?? null)
    },
  }),
)
