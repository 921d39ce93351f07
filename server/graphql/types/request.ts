import type { Request as RequestRow } from '../../generated/prisma/client.js'
import type { RecordedAnswer } from '../../session/requests.js'
import { builder } from '../builder.js'
import { toIdPage, wholePage } from '../children.js'
import { readAnswer, readAnswers, readDetails } from '../column-codec.js'
import type { GraphqlContext } from '../context.js'
import { deliveredBy } from '../delivered.js'
import { MAX_PAGE, pageComplexity } from '../limits.js'
import { toConnection } from '../page.js'
import { mayReadRequest } from '../request-access.js'
import { statusAt, withStatusSql } from '../request-status.js'
import { ApprovalDecision, InputRequestKind, InputRequestStatus, SessionStatus } from './enums.js'
import { Principal } from './facts.js'
import { InputOption } from './input-option.js'
import { Node } from './node.js'
import { Session } from './session.js'
import { ToolCall } from './tool-call.js'
import { Turn } from './turn.js'

const InputAnswer = builder.objectRef<RecordedAnswer>('InputAnswer').implement({
  description: 'What somebody answered: one of decision, options, text and JSON.',
  fields: (t) => ({
    decision: t.expose('decision', {
      type: ApprovalDecision,
      nullable: true,
      description: 'To a tool call, or a sign-in that was declined.',
    }),
    optionIds: t.exposeStringList('optionIds', { description: 'What was chosen.' }),
    text: t.exposeString('text', { nullable: true, description: 'What was said.' }),
    json: t.expose('json', { type: 'JSON', nullable: true, description: 'What was given as JSON.' }),
    reason: t.exposeString('reason', { nullable: true, description: 'Why, in the words of who answered; the model reads it.' }),
    by: t.expose('by', { type: Principal, description: 'Who answered.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When the answer was accepted.' }),
  }),
})

export const InputRequest = builder.prismaObject('Request', {
  name: 'InputRequest',
  interfaces: [Node],
  description: 'What a session asks of a person. The first answer that is accepted holds; the turn goes on with it.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`req_…`' }),
    sessionId: t.exposeID('sessionId', { description: 'The session that asks; `respond` takes it.' }),
    turnId: t.exposeID('turnId', { description: 'The turn that asks.' }),
    toolCallId: t.exposeID('toolCallId', { nullable: true, description: 'The call that it is about; null: the turn itself asks.' }),
    agentName: t.exposeString('agentName', { description: 'The agent that asks.' }),
    kind: t.expose('kind', { type: InputRequestKind, description: 'What sort of answer it wants.' }),
    status: t.field({
      type: InputRequestStatus,
      description: 'Where it stands. ANSWERED as soon as an answer was accepted.',
      resolve: (request, _, { services }) => statusAt(request, services.clock.now()),
    }),
    prompt: t.exposeString('prompt', { description: 'What the person reads.' }),
    reviewers: t.exposeStringList('reviewers', {
      description: 'Who may answer: `principal:x`, `role:x` or `scope:x`. Empty: whom the turn serves.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was asked.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it is too late to answer; null: not while the turn is open.',
    }),
    answer: t.field({
      type: InputAnswer,
      nullable: true,
      description: 'The answer that was accepted; null: none was.',
      resolve: (request, _, context) => findAnswer(request, context),
    }),
  }),
})

builder.prismaObjectFields(InputRequest, (t) => ({
  options: t.field({
    type: [InputOption],
    description: 'What can be chosen; of an approval: approve and deny.',
    resolve: (request) => readDetails(request).options,
  }),
  minSelections: t.int({ description: 'So many have to be chosen.', resolve: (request) => readDetails(request).minSelections }),
  maxSelections: t.int({ description: 'So many may be chosen.', resolve: (request) => readDetails(request).maxSelections }),
  allowsText: t.boolean({
    description: "Whether words of one's own, or JSON, are an answer.",
    resolve: (request) => readDetails(request).allowsText,
  }),
  authorizationUrl: t.string({
    nullable: true,
    description: 'Of a sign-in: where to.',
    resolve: (request) => readDetails(request).url,
  }),
}))

builder.prismaObjectFields(InputRequest, (t) => ({
  session: t.field({
    type: Session,
    nullable: true,
    description: 'The session that asks; null to those who may only answer.',
    resolve: ({ sessionId }, _, { sessions }) => sessions.load(sessionId),
  }),
  sessionTitle: t.string({
    nullable: true,
    description: 'What people call the session.',
    resolve: async ({ sessionId }, _, { sessions }) => (await sessions.loadWritten(sessionId)).title,
  }),
  sessionStatus: t.field({
    type: SessionStatus,
    description: 'Where the session stands.',
    resolve: async ({ sessionId }, _, { sessions }) => (await sessions.loadWritten(sessionId)).status,
  }),
  turn: t.field({
    type: Turn,
    nullable: true,
    description: 'The turn that asks; null to those who may only answer.',
    resolve: async ({ sessionId, turnId }, _, { sessions, turns }) =>
      (await sessions.load(sessionId)) === null ? null : turns.load(turnId),
  }),
  toolCall: t.field({
    type: ToolCall,
    nullable: true,
    description: 'The call that it is about, with its arguments; null: the turn itself asks.',
    resolve: ({ toolCallId }, _, { calls }) => (toolCallId === null ? null : calls.load(toolCallId)),
  }),
}))

/** The row has it once a worker has acted on it; until then it is in the delivery that holds the request. */
async function findAnswer({ id, answer, status, reservedBy }: RequestRow, context: GraphqlContext): Promise<RecordedAnswer | null> {
  if (answer !== null || status !== 'PENDING' || reservedBy === null) return readAnswer(answer)
  const delivery = await context.deliveries.load(reservedBy)
  const given = readAnswers(delivery.content).find(({ requestId }) => requestId === id)
  return given === undefined ? null : { ...given, by: deliveredBy(delivery, context.caller), at: delivery.acceptedAt.getTime() }
}

export const InputRequestConnection = builder.connectionObject(
  { type: InputRequest, name: 'InputRequestConnection', description: 'A page of requests.' },
  { name: 'InputRequestEdge', description: 'A request and its cursor.' },
)

builder.prismaObjectField(Session, 'requests', (t) =>
  t.connection(
    {
      type: InputRequest,
      description: 'What it asked of people, in the order it was asked.',
      args: { status: t.arg({ type: [InputRequestStatus], description: 'Only those with one of these statuses.' }) },
      complexity: pageComplexity,
      resolve: async ({ id }, args, { children, services }) => {
        const page = toIdPage(args, 'req')
        const filter = args.status ? withStatusSql(args.status, services.clock.now()) : undefined
        return toConnection(await children.load('requestsOfSession', id, page, filter), page, (request) => request.id)
      },
    },
    InputRequestConnection,
  ),
)

builder.prismaObjectField(ToolCall, 'requests', (t) =>
  t.field({
    type: [InputRequest],
    description: `What was asked of people before it could run, or instead; the first ${MAX_PAGE}.`,
    complexity: { field: 1, multiplier: 2 },
    resolve: async ({ id }, _, context) => {
      const rows = (await context.children.load('requestsOfCall', id, wholePage(MAX_PAGE))).slice(0, MAX_PAGE)
      const readable = await Promise.all(rows.map((row) => mayReadRequest(row, context)))
      return rows.filter((_row, index) => readable[index])
    },
  }),
)
