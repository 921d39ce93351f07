/** Events of a turn. */
import { builder } from '../builder.js'
import { TurnTrigger } from './enums.js'
import { eventRef, SessionEvent } from './event.js'
import { Failure, Principal, TokenUsage } from './facts.js'
import type { WaitReason as Reason } from '../../session/events.js'

const WaitReason = builder.enumType('WaitReason', {
  description: 'What an open turn waits for.',
  values: {
    INPUT: { description: 'An answer to a question.' },
    APPROVAL: { description: 'Somebody who allows a tool call.' },
    AUTHORIZATION: { description: 'A sign-in.' },
    TASKS: { description: 'Other sessions.' },
    TIMER: { description: 'A due time, e.g. the next try of a provider that failed.' },
  } satisfies { readonly [Each in Reason]: { readonly description: string } },
})

eventRef('TURN_STARTED').implement({
  description: 'A turn began.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    number: t.int({ description: 'Its number in the session, from 1.', resolve: ({ data }) => data.number }),
    deliveries: t.idList({ description: 'Every delivery that it took.', resolve: ({ data }) => data.deliveries }),
    trigger: t.field({ type: TurnTrigger, description: 'What started it.', resolve: ({ data }) => data.trigger }),
    principal: t.field({ type: Principal, description: 'Whom it serves.', resolve: ({ data }) => data.principal }),
  }),
})

eventRef('TURN_WAITING').implement({
  description: 'Nothing of the open turn runs any more.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    on: t.field({ type: WaitReason, description: 'What it waits for.', resolve: ({ data }) => data.on }),
  }),
})

eventRef('TURN_RESUMED').implement({
  description: 'The open turn goes on.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    cause: t.string({ description: 'What made it go on.', resolve: ({ data }) => data.cause }),
  }),
})

function defineEnd(type: 'TURN_COMPLETED' | 'TURN_FAILED' | 'TURN_CANCELLED', description: string): void {
  eventRef(type).implement({
    description,
    interfaces: [SessionEvent],
    fields: (t) => ({
      output: t.string({ nullable: true, description: 'What the agent answered.', resolve: ({ data }) => data.output }),
      error: t.field({ type: Failure, nullable: true, description: 'Why it failed.', resolve: ({ data }) => data.error }),
      reason: t.string({ nullable: true, description: 'Why it was stopped.', resolve: ({ data }) => data.reason }),
      usage: t.field({ type: TokenUsage, description: 'Tokens of the turn.', resolve: ({ data }) => data.usage }),
      latencyMs: t.field({
        type: 'SafeInt',
        description: 'Wall clock from start to end, milliseconds.',
        resolve: ({ data }) => data.latencyMs,
      }),
    }),
  })
}
defineEnd('TURN_COMPLETED', 'The agent has answered.')
defineEnd('TURN_FAILED', 'The turn ended with an error; the session goes on.')
defineEnd('TURN_CANCELLED', 'Somebody stopped the turn; the session goes on.')
