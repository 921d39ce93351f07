import { storedId } from '../../ids.js'
import { asStored, toText } from '../../store/json-column.js'
import { builder } from '../builder.js'
import { checkWrite } from '../deliver.js'
import { checkInput } from '../input-checks.js'
import { noSession } from '../problems.js'
import { UpdateSessionInput } from './inputs.js'
import { UpdateSessionResult } from './results.js'

/** Title and metadata are the caller's words about a session, no part of what its driver commits: a plain update. */
builder.mutationField('updateSession', (t) =>
  t.field({
    type: UpdateSessionResult,
    description: 'Changes what people see of a session, also of an ended one: its title and metadata.',
    args: { input: t.arg({ type: UpdateSessionInput, required: true, description: 'What to change.' }) },
    resolve: async (_, { input }, context) => {
      const refused = checkWrite(context) ?? checkInput('updateSession', input)
      if (refused !== null) return refused
      const { session: id, title, metadata } = input
      const { services, sessions } = context
      if ((await sessions.load(id)) === null) return noSession(id)
      await services.prisma.session.update({
        where: { id },
        data: {
          ...(title !== undefined && { title: title === null ? null : toText(title) }),
          ...(metadata !== undefined && { metadata: asStored({ ...metadata }) }),
          updatedAt: new Date(services.clock.now()),
        },
        select: { id: true },
      })
      services.coordinator.announce(storedId('ses', id))
      return { __typename: 'SessionPayload' as const, sessionId: id }
    },
  }),
)
