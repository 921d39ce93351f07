import { Prisma } from '../../generated/prisma/client.js'
import { isEnded } from '../../session/status.js'
import { hasScope } from '../access.js'
import { builder } from '../builder.js'
import { toChildPage, wholePage } from '../children.js'
import { toCursor } from '../event-cursor.js'
import { withRetractions } from '../event-filter.js'
import { DEFAULT_TRANSCRIPT, MAX_ADDRESSES, MAX_TRANSCRIPT, pageComplexity } from '../limits.js'
import { toConnection } from '../page.js'
import { readEvent, readFailure, readObject, readUsage } from '../column-codec.js'
import { Delivery, DeliveryConnection } from './delivery.js'
import { DeliveryStatus, SessionEndReason, SessionMode, SessionStatus } from './enums.js'
import { SessionEvent, SessionEventConnection, SessionEventType } from './event.js'
import { Failure, Principal, TokenUsage } from './facts.js'
import { Node } from './node.js'
import { readTranscript, TranscriptMessage } from './transcript.js'
import { Turn, TurnConnection } from './turn.js'

/** `head` is read before everything else of a session (S1 of sessions.ts). */
export const Session = builder.prismaObject('Session', {
  interfaces: [Node],
  include: { head: true },
  description: 'One conversation with an agent. It lasts until it is ended, across crashes, restarts and deployments.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`ses_…`' }),
    agentName: t.exposeString('agentName', { description: 'The agent that it talks to.' }),
    mode: t.expose('mode', { type: SessionMode, description: 'How long it lasts.' }),
    status: t.expose('status', { type: SessionStatus, description: 'Where it stands.' }),
    title: t.exposeString('title', { nullable: true, description: 'What people call it.' }),
    metadata: t.field({
      type: 'JSONObject',
      description: 'What its creator attached to it.',
      resolve: ({ metadata }) => readObject(metadata),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When something was last handed to it, or it changed its status.' }),
    endedAt: t.expose('endedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it will have been idle for too long and ends; null: never, or it has ended.',
    }),
    endReason: t.expose('endReason', { type: SessionEndReason, nullable: true, description: 'Why it ended.' }),
    error: t.field({ type: Failure, nullable: true, description: 'What it failed with.', resolve: ({ error }) => readFailure(error) }),
    owner: t.field({
      type: Principal,
      description: 'Who created it.',
      resolve: ({ tenant, ownerId, ownerKind, ownerName }) => ({
        tenant,
        id: ownerId,
        kind: ownerKind,
        ...(ownerName !== null && { name: ownerName }),
      }),
    }),
    addresses: t.stringList({
      description: 'The addresses it holds, `channel:value`; an ended session holds none.',
      resolve: async ({ id, status }, _, { children }) => {
        if (isEnded(status)) return []
        return (await children.load('addressesOfSession', id, wholePage(MAX_ADDRESSES))).map(({ address }) => address)
      },
    }),
    deployment: t.exposeString('deployment', { description: 'The released version that it is with.' }),
  }),
})

builder.prismaObjectFields(Session, (t) => ({
  currentTurn: t.field({
    type: Turn,
    nullable: true,
    description: 'The open turn.',
    resolve: async ({ id }, _, { children }) => {
      const [newest] = await children.load('turnsOfSession', id, wholePage(1, true))
      return newest?.endedAt === null ? newest : null
    },
  }),
  turns: t.connection(
    {
      type: Turn,
      description: 'Its turns, in order.',
      complexity: pageComplexity,
      resolve: async ({ id }, args, { children }) => {
        const page = toChildPage(args, 1)
        return toConnection(await children.load('turnsOfSession', id, page), page, ({ number }) => String(number))
      },
    },
    TurnConnection,
  ),
  deliveries: t.connection(
    {
      type: Delivery,
      description: 'What was handed to it, in the order it was accepted.',
      args: { status: t.arg({ type: [DeliveryStatus], description: 'Only those with one of these statuses.' }) },
      complexity: pageComplexity,
      resolve: async ({ id }, args, { children }) => {
        const page = toChildPage(args, 1)
        const filter = args.status ? Prisma.sql`child.status::text = ANY (${args.status}::text[])` : undefined
        return toConnection(await children.load('deliveriesOfSession', id, page, filter), page, ({ position }) => String(position))
      },
    },
    DeliveryConnection,
  ),
  usage: t.field({ type: TokenUsage, description: 'Tokens of its turns.', resolve: ({ usage }) => readUsage(usage) }),
  state: t.field({
    type: 'JSONObject',
    nullable: true,
    description: "What the agent's tools remember of it (`defineState`), by key; null to whoever is no admin.",
    resolve: async ({ id }, _, { caller, states }) => (hasScope(caller, 'admin') ? readObject(await states.load(id)) : null),
  }),
}))

builder.prismaObjectFields(Session, (t) => ({
  cursor: t.string({
    description:
      'The end of its log, read before everything else of this object: subscribe after it to miss nothing. What comes may already show in other fields; folding it is idempotent.',
    resolve: ({ head }) => toCursor(head?.lastSeq ?? 0),
  }),
  events: t.connection(
    {
      type: SessionEvent,
      description:
        'Recorded events, oldest first, also of an ended session. STEP_RETRYING and STEP_INTERRUPTED come with every filter that has LLM_* types.',
      args: { types: t.arg({ type: [SessionEventType], description: 'Only these.' }) },
      complexity: pageComplexity,
      resolve: async ({ id }, args, { children }) => {
        const page = toChildPage(args, 1)
        const filter = args.types ? Prisma.sql`child.type = ANY (${[...withRetractions(args.types)]}::text[])` : undefined
        const rows = await children.load('eventsOfSession', id, page, filter)
        return toConnection(rows.map(readEvent), page, ({ position }) => toCursor(position))
      },
    },
    SessionEventConnection,
  ),
  transcript: t.field({
    type: [TranscriptMessage],
    description: 'What was said, oldest first: role and text only, of the current conversation.',
    args: {
      maxMessages: t.arg.int({ description: `The newest so many; ${DEFAULT_TRANSCRIPT} when not given, at most ${MAX_TRANSCRIPT}.` }),
    },
    complexity: ({ maxMessages }) => ({ field: 1, multiplier: maxMessages ?? DEFAULT_TRANSCRIPT }),
    resolve: ({ id }, { maxMessages }, { children }) => readTranscript(id, maxMessages, children),
  }),
}))

export const SessionConnection = builder.connectionObject(
  { type: Session, name: 'SessionConnection', description: 'A page of sessions.' },
  { name: 'SessionEdge', description: 'A session and its cursor.' },
)

builder.prismaObjectField(Turn, 'session', (t) =>
  t.field({
    type: Session,
    description: 'The session it belongs to.',
    resolve: ({ sessionId }, _, { sessions }) => sessions.loadWritten(sessionId),
  }),
)
