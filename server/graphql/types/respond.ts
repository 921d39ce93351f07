import { builder } from '../builder.js'
import { MAX_ANSWERS } from '../limits.js'
import { respond } from '../respond.js'
import { RespondInput } from './inputs.js'
import { RespondResult } from './results.js'

builder.mutationField('respond', (t) =>
  t.field({
    type: RespondResult,
    description: `Answers requests of one session: approvals, questions, sign-ins, limits; up to ${MAX_ANSWERS}, all of them accepted together or none. The first answer to a request holds. Takes the scope sessions:write or requests:answer.`,
    args: { input: t.arg({ type: RespondInput, required: true, description: 'What to answer, and how.' }) },
    resolve: (_, { input }, context) => respond(context, input),
  }),
)
