import type { GraphQLError } from 'graphql'
import type { EventBatch } from '../../events/event-batch.js'
import type { Request as RequestRow } from '../../generated/prisma/client.js'
import { builder } from '../builder.js'
import { toCursor } from '../event-cursor.js'
import { MAX_REPLAY } from '../limits.js'
import { followRequests } from '../request-changes.js'
import { followChanges, type SessionChange as Change } from '../session-changes.js'
import { followSession, type SessionEventsAnswer } from '../session-events.js'
import { InputRequestKind } from './enums.js'
import { SessionEvent, SessionEventType } from './event.js'
import { SessionFilterInput } from './filter.js'
import { SessionRef } from './inputs.js'
import { InvalidInputError, NotFoundError } from './problem.js'
import { InputRequest } from './request.js'
import { Session } from './session.js'

const SessionEventsBatch = builder.objectRef<EventBatch>('SessionEventsBatch').implement({
  description: 'Events of whole commits. An empty batch is a heartbeat; one comes after 15 seconds of silence.',
  fields: (t) => ({
    events: t.field({ type: [SessionEvent], description: 'In the order of the log.', resolve: ({ events }) => events }),
    cursor: t.string({ description: 'Everything up to here has been sent: go on after it.', resolve: ({ cursor }) => toCursor(cursor) }),
    caughtUp: t.exposeBoolean('caughtUp', { description: 'Whether this is all that was recorded.' }),
    pendingApprovals: t.idList({
      description: 'The approvals of the session that are open at this moment; a heartbeat tells it too.',
      resolve: (_, __, { following, openApprovals }) => (following.sessionId === null ? [] : openApprovals.load(following.sessionId)),
    }),
  }),
})

const SessionEventsResult = builder.unionType('SessionEventsResult', {
  description: 'A batch of events, or why there are none.',
  types: [SessionEventsBatch, NotFoundError, InvalidInputError],
  resolveType: (answer) => ('__typename' in answer ? answer.__typename : 'SessionEventsBatch'),
})

builder.subscriptionField('sessionEvents', (t) =>
  t.field({
    type: SessionEventsResult,
    description:
      'Replays what was recorded after `after` (or the last `last` events; everything when neither is given), then follows the session live, without a gap or a repeat, and completes when it has ended. `after` with `last`, a malformed cursor, or one beyond the log is InvalidInputError. STEP_INTERRUPTED and STEP_RETRYING pass every filter that has LLM_* types.',
    args: {
      session: t.arg({ type: SessionRef, required: true, description: 'The session; by address: whoever holds it now.' }),
      after: t.arg.string({ description: 'The cursor of what you have: of a batch, an event or the session.' }),
      last: t.arg.int({ description: `Replay the last so many events, at most ${MAX_REPLAY}.` }),
      follow: t.arg.boolean({ required: true, defaultValue: true, description: 'False: complete at the end of what is recorded.' }),
      types: t.arg({ type: [SessionEventType], description: 'Only these.' }),
    },
    subscribe: (_, args, context) => followSession(args, context),
    resolve: (item: SessionEventsAnswer | GraphQLError) => orThrow(item),
  }),
)

const SessionChange = builder.objectRef<Change>('SessionChange').implement({
  description: 'A session whose row in a list may have changed.',
  fields: (t) => ({
    session: t.expose('session', { type: Session, description: 'As it is now.' }),
    matches: t.exposeBoolean('matches', { description: 'Whether it matches the filter; false: take it off the list.' }),
  }),
})

builder.subscriptionField('sessionChanged', (t) =>
  t.field({
    type: SessionChange,
    description:
      'A session that matches, or has ceased to: at least once after its last change, at most once a second each. On (re)connect, refetch the list.',
    args: { filter: t.arg({ type: SessionFilterInput, description: 'Only those that match, or have ceased to.' }) },
    subscribe: (_, { filter }, context) => followChanges(filter ?? {}, context),
    resolve: (item: Change | GraphQLError) => orThrow(item),
  }),
)

builder.subscriptionField('inputRequestChanged', (t) =>
  t.field({
    type: InputRequest,
    description:
      "The reviewer's queue, live: a request that the caller may answer was opened, or settled. At least once after its last change; those of one session at most once a second. On (re)connect, refetch the list.",
    args: {
      kind: t.arg({ type: [InputRequestKind], description: 'Only those of one of these kinds.' }),
      agent: t.arg.stringList({ description: 'Only what one of these agents asks.' }),
      sessionId: t.arg.id({ description: 'Only what this session asks.' }),
    },
    subscribe: (_, args, context) => followRequests(args, context),
    resolve: (request: RequestRow | GraphQLError) => orThrow(request),
  }),
)

/** An error that ends a subscription is told as an error of its field. */
function orThrow<Item extends object>(item: Item | GraphQLError): Item {
  if (item instanceof Error) throw item
  return item
}
