import { builder } from '../builder.js'
import { SessionStatus } from './enums.js'

export const SessionFilterInput = builder.inputType('SessionFilter', {
  description: 'Which sessions; all that is given must hold. Example: `{ agent: ["support"], status: [RUNNING, IDLE] }`',
  fields: (t) => ({
    agent: t.stringList({ description: 'Of one of these agents. Example: `["support"]`' }),
    status: t.field({ type: [SessionStatus], description: 'In one of these statuses. Example: `[RUNNING]`' }),
    createdAfter: t.field({ type: 'DateTime', description: 'Created later than this. Example: `"2026-11-29T00:00:00Z"`' }),
    createdBefore: t.field({ type: 'DateTime', description: 'Created earlier than this. Example: `"2026-11-30T00:00:00Z"`' }),
    updatedAfter: t.field({ type: 'DateTime', description: 'Changed later than this. Example: `"2026-11-29T12:00:00Z"`' }),
    owner: t.string({ description: 'Id of the principal who owns it. Example: `"ann"`' }),
    address: t.string({ description: 'Holds this address. Example: `"slack:C042"`' }),
    title: t.string({ description: 'Has this in its title, in upper or lower case. Example: `"refund"`' }),
  }),
})
