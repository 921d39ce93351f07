/** Events of a session as a whole, and of what is handed to it. */
import type { TERMINAL_TYPES } from '../../session/events.js'
import { DeliveryStatus, SessionEndReason } from './enums.js'
import { eventRef, SessionEvent } from './event.js'
import { Failure, Principal, TokenUsage } from './facts.js'

eventRef('SESSION_STARTED').implement({
  description: 'The first turn is about to begin.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    agent: t.string({ description: 'Name of the agent.', resolve: ({ data }) => data.agent }),
    deployment: t.string({ description: 'The released version that began it.', resolve: ({ data }) => data.deployment }),
    predecessor: t.id({ nullable: true, description: 'The session that it takes the place of.', resolve: ({ data }) => data.predecessor }),
  }),
})

eventRef('SESSION_WAITING').implement({
  description: 'Parked between turns.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    usage: t.field({ type: TokenUsage, description: 'Tokens of the session so far.', resolve: ({ data }) => data.usage }),
  }),
})

function defineEnd(type: (typeof TERMINAL_TYPES)[number], description: string): void {
  eventRef(type).implement({
    description: `${description} The last event of the log.`,
    interfaces: [SessionEvent],
    fields: (t) => ({
      reason: t.field({ type: SessionEndReason, description: 'Why it ended.', resolve: ({ data }) => data.reason }),
      error: t.field({ type: Failure, nullable: true, description: 'What went wrong.', resolve: ({ data }) => data.error }),
      usage: t.field({ type: TokenUsage, description: 'Tokens of the session.', resolve: ({ data }) => data.usage }),
    }),
  })
}
defineEnd('SESSION_COMPLETED', 'The session ended while no turn was open.')
defineEnd('SESSION_FAILED', 'The session ended by a fault that no later message could mend.')
defineEnd('SESSION_CANCELLED', 'The session ended while a turn was open.')

eventRef('CONTEXT_CLEARED').implement({
  description: 'What the model reads was emptied: the next turn begins a new conversation.',
  interfaces: [SessionEvent],
})

eventRef('MESSAGE_RECEIVED').implement({
  description: 'A message joined a turn.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    delivery: t.id({ description: 'Its delivery.', resolve: ({ data }) => data.delivery }),
    text: t.string({ description: 'What it says.', resolve: ({ data }) => data.text }),
    by: t.field({ type: Principal, description: 'Who wrote it.', resolve: ({ data }) => data.by }),
  }),
})

eventRef('DELIVERY_SETTLED').implement({
  description: 'A delivery took effect, or never will. Once for every delivery.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    delivery: t.id({ description: 'The delivery.', resolve: ({ data }) => data.delivery }),
    status: t.field({ type: DeliveryStatus, description: 'APPLIED or REJECTED.', resolve: ({ data }) => data.status }),
    turn: t.id({ nullable: true, description: 'The turn that took it.', resolve: ({ data }) => data.turn }),
    reason: t.string({ nullable: true, description: 'Why it was rejected.', resolve: ({ data }) => data.reason }),
  }),
})
