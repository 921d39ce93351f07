import { storedId } from '../../ids.js'
import { builder } from '../builder.js'
import { checkWrite } from '../deliver.js'
import { checkInput } from '../input-checks.js'
import { MAX_ADDRESSES } from '../limits.js'
import * as problems from '../problems.js'
import { AddressInput } from './inputs.js'
import { ClaimAddressResult } from './results.js'

builder.mutationField('claimAddress', (t) =>
  t.field({
    type: ClaimAddressResult,
    description: `A session holds an address from now on: what is sent to the address reaches it. At most ${MAX_ADDRESSES} a session. Repeating it changes nothing.`,
    args: { input: t.arg({ type: AddressInput, required: true, description: 'Which session, which address.' }) },
    resolve: async (_, { input }, context) => {
      const refused = checkWrite(context) ?? checkInput('address', input)
      if (refused !== null) return refused
      const { session: sessionId, address } = input
      const { services, sessions } = context
      if (!(await sessions.canSee(sessionId))) return problems.noSession(sessionId)
      const outcome = await services.intake.claimAddress(storedId('ses', sessionId), address, MAX_ADDRESSES)
      switch (outcome.kind) {
        case 'claimed':
          return { __typename: 'SessionPayload' as const, sessionId }
        case 'taken':
          return problems.addressTaken(address, (await sessions.load(outcome.holder))?.id ?? null)
        case 'full':
          return problems.limitExceeded(
            `Session ${sessionId} holds ${MAX_ADDRESSES} addresses; release one first.`,
            `addresses: ${MAX_ADDRESSES}`,
          )
        case 'ended':
          return problems.sessionEnded(sessionId)
        case 'not-found':
          return problems.noSession(sessionId)
      }
    },
  }),
)
