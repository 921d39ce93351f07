import { builder } from '../builder.js'
import { toChildPage, wholePage } from '../children.js'
import { MAX_PAGE, pageComplexity } from '../limits.js'
import { toConnection } from '../page.js'
import { readFailure, readPrincipal, readUsage } from '../column-codec.js'
import { Delivery } from './delivery.js'
import { TurnStatus, TurnTrigger } from './enums.js'
import { Failure, Principal, TokenUsage } from './facts.js'
import { Node } from './node.js'
import { Step, StepConnection } from './step.js'
import { ToolCall, ToolCallConnection } from './tool-call.js'

export const Turn = builder.prismaObject('Turn', {
  interfaces: [Node],
  description: 'One message, or several folded ones, and all the work that it caused. One turn of a session is open at a time.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`turn_…`' }),
    number: t.exposeInt('number', { description: 'Its number in the session, from 1.' }),
    status: t.expose('status', { type: TurnStatus, description: 'Where it stands.' }),
    trigger: t.expose('trigger', { type: TurnTrigger, description: 'What started it.' }),
    servedPrincipal: t.field({
      type: Principal,
      description: 'Whom it serves: the author of what started it.',
      resolve: ({ principal }) => readPrincipal(principal),
    }),
    deliveries: t.field({
      type: [Delivery],
      description: `The deliveries it took, in their order; the first ${MAX_PAGE}.`,
      complexity: { field: 1, multiplier: 5 },
      resolve: async ({ id }, _, { children }) => (await children.load('deliveriesOfTurn', id, wholePage(MAX_PAGE))).slice(0, MAX_PAGE),
    }),
    userInput: t.exposeString('userInput', { description: 'What was said to start it.' }),
    assistantOutput: t.string({ nullable: true, description: 'What the agent answered.', resolve: ({ output }) => output }),
    error: t.field({ type: Failure, nullable: true, description: 'Why it failed.', resolve: ({ error }) => readFailure(error) }),
    steps: t.connection(
      {
        type: Step,
        description: 'Its steps, in order.',
        complexity: pageComplexity,
        resolve: async ({ id }, args, { children }) => {
          const page = toChildPage(args, 1)
          return toConnection(await children.load('stepsOfTurn', id, page), page, ({ index }) => String(index))
        },
      },
      StepConnection,
    ),
    toolCalls: t.connection(
      {
        type: ToolCall,
        description: 'Its tool calls, in order.',
        complexity: pageComplexity,
        resolve: async ({ id }, args, { children }) => {
          const page = toChildPage(args, 2)
          const rows = await children.load('callsOfTurn', id, page)
          return toConnection(rows, page, ({ stepIndex, order }) => `${stepIndex}.${order}`)
        },
      },
      ToolCallConnection,
    ),
  }),
})

builder.prismaObjectFields(Turn, (t) => ({
  usage: t.field({
    type: TokenUsage,
    description: 'Tokens of its steps.',
    resolve: async (turn, _, { openTurns }) => (await openTurns.load(turn))?.usage ?? readUsage(turn.usage),
  }),
  startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it began.' }),
  endedAt: t.expose('endedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
  latencyMs: t.field({
    type: 'SafeInt',
    nullable: true,
    description: 'Wall clock from start to end, milliseconds; null while it is open.',
    resolve: ({ startedAt, endedAt }) => (endedAt === null ? null : endedAt.getTime() - startedAt.getTime()),
  }),
  activeMs: t.field({
    type: 'SafeInt',
    description: 'Milliseconds that something of it ran: without the time that it waited for a person, a task or a timer.',
    resolve: async (turn, _, { openTurns }) => (await openTurns.load(turn))?.activeMs ?? turn.activeMs ?? 0,
  }),
}))

export const TurnConnection = builder.connectionObject(
  { type: Turn, name: 'TurnConnection', description: 'A page of turns.' },
  { name: 'TurnEdge', description: 'A turn and its cursor.' },
)

builder.prismaObjectField(Step, 'turn', (t) =>
  t.field({ type: Turn, description: 'The turn it belongs to.', resolve: ({ turnId }, _, { turns }) => turns.load(turnId) }),
)

builder.prismaObjectField(Delivery, 'turn', (t) =>
  t.field({
    type: Turn,
    nullable: true,
    description: 'The turn that took it.',
    resolve: ({ turnId, sessionId }, _, { turns, outlines }) => (turnId === null || outlines.has(sessionId) ? null : turns.load(turnId)),
  }),
)
