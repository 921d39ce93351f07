import { builder } from '../builder.js'
import { wholePage } from '../children.js'
import { MAX_PAGE } from '../limits.js'
import { readFailure, readUsage } from '../column-codec.js'
import { FinishReason, StepStatus } from './enums.js'
import { Failure, TokenUsage } from './facts.js'
import { Node } from './node.js'
import { ToolCall } from './tool-call.js'

export const Step = builder.prismaObject('Step', {
  interfaces: [Node],
  description: 'One call of the model, with the tool calls that it asked for.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`stp_…`' }),
    index: t.exposeInt('index', { description: 'Its number in the turn, from 0.' }),
    attempt: t.exposeInt('attempt', { description: 'How often the model was called for it, from 1.' }),
    status: t.expose('status', { type: StepStatus, description: 'Where it stands.' }),
    model: t.exposeString('model', { description: 'The model that was called.' }),
    text: t.exposeString('text', { nullable: true, description: 'What the model said.' }),
    reasoning: t.exposeString('reasoning', { nullable: true, description: 'What the model thought, as far as its provider shows it.' }),
    toolCalls: t.field({
      type: [ToolCall],
      description: `The calls it asked for, in its order; the first ${MAX_PAGE}.`,
      complexity: { field: 1, multiplier: 5 },
      resolve: async ({ id }, _, { children }) => (await children.load('callsOfStep', id, wholePage(MAX_PAGE))).slice(0, MAX_PAGE),
    }),
    finishReason: t.expose('finishReason', { type: FinishReason, nullable: true, description: 'Why the model stopped writing.' }),
    usage: t.field({
      type: TokenUsage,
      nullable: true,
      description: 'Tokens of this call; null when the provider did not tell.',
      resolve: ({ usage }) => (usage === null ? null : readUsage(usage)),
    }),
    error: t.field({ type: Failure, nullable: true, description: 'Why it failed.', resolve: ({ error }) => readFailure(error) }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When its newest attempt began.' }),
    endedAt: t.expose('endedAt', { type: 'DateTime', nullable: true, description: "When the model's answer was complete, or it failed." }),
  }),
})

export const StepConnection = builder.connectionObject(
  { type: Step, name: 'StepConnection', description: 'A page of steps.' },
  { name: 'StepEdge', description: 'A step and its cursor.' },
)
