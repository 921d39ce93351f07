/** What every event has. The types, one for each type of event, are in *-events.ts. */
import type { EventType, NewEvent, RecordedEvent } from '../../session/events.js'
import { builder } from '../builder.js'
import { toCursor } from '../event-cursor.js'

export type RecordedEventOf<Type extends EventType> = Extract<RecordedEvent, { readonly type: Type }>

export const SessionEventType = builder.enumType('SessionEventType', {
  description: 'What happened.',
  values: {
    SESSION_STARTED: { description: 'The first turn is about to begin.' },
    SESSION_WAITING: { description: 'Parked between turns.' },
    SESSION_COMPLETED: { description: 'The end, while no turn was open; the last event of the log.' },
    SESSION_FAILED: { description: 'The end, by a fault; the last event of the log.' },
    SESSION_CANCELLED: { description: 'The end, while a turn was open; the last event of the log.' },
    CONTEXT_CLEARED: { description: 'What the model reads was emptied.' },
    TURN_STARTED: { description: 'A turn began.' },
    TURN_WAITING: { description: 'Nothing of the open turn runs any more.' },
    TURN_RESUMED: { description: 'The open turn goes on.' },
    TURN_COMPLETED: { description: 'The agent has answered.' },
    TURN_FAILED: { description: 'The turn ended with an error; the session goes on.' },
    TURN_CANCELLED: { description: 'Somebody stopped the turn.' },
    MESSAGE_RECEIVED: { description: 'A message joined a turn.' },
    DELIVERY_SETTLED: { description: 'A delivery took effect, or never will; once for every delivery.' },
    STEP_STARTED: { description: 'The model is about to be called.' },
    STEP_COMPLETED: { description: 'The model has answered.' },
    STEP_RETRYING: { description: 'The provider failed and is called again; retracts the unfinished blocks of the attempt.' },
    STEP_INTERRUPTED: {
      description: 'The attempt is over without an outcome; retracts its unfinished blocks, unless they were completed as interrupted.',
    },
    STEP_FAILED: { description: 'The provider failed, and retries are used up.' },
    LLM_CHUNK: { description: 'Text, as it comes.' },
    LLM_REASONING: { description: 'Reasoning, as it comes.' },
    LLM_TOOL_INPUT: { description: 'Raw arguments of a call, as they come.' },
    MESSAGE_COMPLETED: { description: 'The finished block of text; it holds, whatever its chunks were.' },
    REASONING_COMPLETED: { description: 'The finished block of reasoning; it holds, whatever its chunks were.' },
    APPROVAL_REQUESTED: { description: 'Somebody has to allow a call before it runs.' },
    APPROVAL_RESOLVED: { description: 'A call was allowed or denied, also because nobody decided in time.' },
    APPROVAL_CANCELLED: { description: 'Nobody needs to decide on a call any more.' },
    INPUT_REQUESTED: { description: 'The session asks a question, or whether to go on over a budget.' },
    INPUT_RESOLVED: { description: 'A question was answered, or is not open any more.' },
    AUTHORIZATION_REQUIRED: { description: 'Somebody has to sign in.' },
    AUTHORIZATION_COMPLETED: { description: 'Somebody has signed in, or will not.' },
    TOOL_CALL_REQUESTED: { description: 'The model asked for a call, valid or not.' },
    TOOL_CALL_START: { description: 'The code of a call is about to run; at most once a call.' },
    TOOL_CALL_PROGRESS: { description: 'A partial output; the newest wins.' },
    TOOL_CALL_END: { description: 'A call has its result; exactly once a call.' },
  } satisfies { readonly [Type in EventType]: { readonly description: string } },
})

export const SessionEvent = builder.interfaceRef<RecordedEvent>('SessionEvent').implement({
  description: "A fact of a session's log. There is one type for each `type`: `TOOL_CALL_START` is `ToolCallStart`.",
  resolveType: ({ type }) => toTypeName(type),
  fields: (t) => ({
    id: t.id({
      description: '`evt_…`, made of the session and the position; `node` does not find it.',
      resolve: ({ sessionId, position }) => `evt_${sessionId.slice(sessionId.indexOf('_') + 1)}_${position}`,
    }),
    type: t.field({ type: SessionEventType, description: 'What happened.', resolve: ({ type }) => type }),
    cursor: t.string({
      description: 'Opaque; what comes after this event comes `after` it.',
      resolve: ({ position }) => toCursor(position),
    }),
    at: t.expose('at', { type: 'DateTime', description: 'When it was recorded.' }),
    sessionId: t.exposeID('sessionId', { description: 'The session whose log this is.' }),
    turnId: t.id({ nullable: true, description: 'The turn that it belongs to.', resolve: ({ turnId }) => turnId }),
    stepIndex: t.int({ nullable: true, description: 'The step of the turn that it belongs to.', resolve: ({ stepIndex }) => stepIndex }),
    attempt: t.int({
      nullable: true,
      description: 'The attempt of the step that it belongs to, from 1; null outside a step.',
      resolve: ({ attempt }) => attempt,
    }),
    data: t.field({ type: 'JSONObject', description: 'The fields of this type of event, all of them.', resolve: ({ data }) => data }),
  }),
})

/** The object type of one type of event. `implement` it with SessionEvent among its interfaces. */
export function eventRef<Type extends EventType>(type: Type) {
  return builder.objectRef<RecordedEventOf<Type>>(toTypeName(type))
}

/** TOOL_CALL_START is ToolCallStart. */
export function toTypeName(type: NewEvent['type']): string {
  return type.replace(/([A-Z])([A-Z]*)_?/g, (_, first: string, rest: string) => first + rest.toLowerCase())
}

export const SessionEventConnection = builder.connectionObject(
  { type: SessionEvent, name: 'SessionEventConnection', description: 'A page of events.' },
  { name: 'SessionEventEdge', description: 'An event and its cursor.' },
)
