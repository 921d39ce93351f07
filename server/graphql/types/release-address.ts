import { storedId } from '../../ids.js'
import { builder } from '../builder.js'
import { checkWrite } from '../deliver.js'
import { checkInput } from '../input-checks.js'
import { noSession } from '../problems.js'
import { AddressInput } from './inputs.js'
import { ReleaseAddressResult } from './results.js'

builder.mutationField('releaseAddress', (t) =>
  t.field({
    type: ReleaseAddressResult,
    description:
      'A session does not hold an address any more: others may claim it. Repeating it, or releasing what it does not hold, changes nothing.',
    args: { input: t.arg({ type: AddressInput, required: true, description: 'Which session, which address.' }) },
    resolve: async (_, { input }, context) => {
      const refused = checkWrite(context) ?? checkInput('address', input)
      if (refused !== null) return refused
      const { session: sessionId, address } = input
      if (!(await context.sessions.canSee(sessionId))) return noSession(sessionId)
      await context.services.intake.releaseAddress(storedId('ses', sessionId), address)
      return { __typename: 'SessionPayload' as const, sessionId }
    },
  }),
)
