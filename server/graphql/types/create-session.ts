import { builder } from '../builder.js'
import { checkAgent, checkWrite, create } from '../deliver.js'
import { checkInput } from '../input-checks.js'
import { toSpec } from '../targets.js'
import { CreateSessionInput } from './inputs.js'
import { CreateSessionResult } from './results.js'

builder.mutationField('createSession', (t) =>
  t.field({
    type: CreateSessionResult,
    description: 'Creates a session and parks it before its first turn; may import an earlier conversation.',
    args: { input: t.arg({ type: CreateSessionInput, required: true, description: 'What to create.' }) },
    resolve: async (_, { input }, context) => {
      const spec = toSpec(input.session)
      const refused = checkWrite(context) ?? checkInput('createSession', input) ?? checkAgent(spec, context)
      if (refused !== null) return refused
      const outcome = await create(context, spec, input.idempotencyKey ?? null)
      if (!('kind' in outcome)) return outcome
      return { __typename: 'CreateSessionPayload' as const, sessionId: outcome.sessionId, duplicate: outcome.duplicate }
    },
  }),
)
