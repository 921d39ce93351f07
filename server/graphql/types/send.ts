import { checkActor, speakerFor } from '../actors.js'
import { builder } from '../builder.js'
import { checkAgent, checkWrite, deliver, toDelivered } from '../deliver.js'
import { checkInput } from '../input-checks.js'
import { sessionEnded } from '../problems.js'
import { specOf, toTarget } from '../targets.js'
import { SendInput } from './inputs.js'
import { SendResult } from './results.js'

builder.mutationField('send', (t) =>
  t.field({
    type: SendResult,
    description: 'Delivers a message: to a session, to whichever session holds an address (creating one if asked to), or to a new session.',
    args: { input: t.arg({ type: SendInput, required: true, description: 'What to deliver, and where.' }) },
    resolve: async (_, { input }, context) => {
      const { message, turnPolicy: policy, actor, idempotencyKey: key = null } = input
      const target = toTarget(input.to)
      const refused = checkWrite(context) ?? checkActor(context, actor) ?? checkInput('send', input) ?? checkAgent(specOf(target), context)
      if (refused !== null) return refused
      const { principal, authority } = speakerFor(context, actor)
      const content = { kind: 'MESSAGE', text: message.text, policy, ...(authority.length > 0 && { authority }) } as const
      const outcome = await deliver(context, { target, content, key, author: actor ? principal : undefined })
      if (!('kind' in outcome)) return outcome
      if (outcome.kind === 'ended') return sessionEnded(outcome.sessionId)
      return { __typename: 'SendPayload' as const, ...toDelivered(outcome), created: outcome.created }
    },
  }),
)
