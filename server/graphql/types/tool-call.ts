import { builder } from '../builder.js'
import { readFailure } from '../column-codec.js'
import { ToolCallStatus } from './enums.js'
import { Failure } from './facts.js'
import { Node } from './node.js'

export const ToolCall = builder.prismaObject('ToolCall', {
  interfaces: [Node],
  description: 'One use of a tool. It is recorded as started before its code runs, so that it never starts twice unnoticed.',
  fields: (t) => ({
    id: t.exposeID('id', { description: '`call_…`; the tool gets it too.' }),
    turnId: t.exposeID('turnId', { description: 'The turn it belongs to.' }),
    stepIndex: t.exposeInt('stepIndex', { description: 'Index of its step in the turn.' }),
    name: t.exposeString('name', { description: 'The tool that the model asked for.' }),
    label: t.exposeString('label', { nullable: true, description: 'What a person reads instead of the name.' }),
    input: t.expose('input', { type: 'JSON', description: 'The arguments; `{}` when the model wrote no valid JSON.' }),
    output: t.expose('output', { type: 'JSON', nullable: true, description: 'What the tool gave.' }),
    outputTruncatedBytes: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'Bytes of the output that were cut away before it was stored; null: none.',
      resolve: ({ truncatedBytes }) => (truncatedBytes === 0 ? null : truncatedBytes),
    }),
    error: t.field({
      type: Failure,
      nullable: true,
      description: 'Why it gave no result; the model reads it as the result.',
      resolve: ({ error }) => readFailure(error),
    }),
    status: t.expose('status', { type: ToolCallStatus, description: 'Where it stands.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'When its code was about to run.' }),
    endedAt: t.expose('endedAt', { type: 'DateTime', nullable: true, description: 'When it had its result.' }),
    durationMs: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'From start to end, milliseconds.',
      resolve: ({ startedAt, endedAt }) => (startedAt === null || endedAt === null ? null : endedAt.getTime() - startedAt.getTime()),
    }),
  }),
})

export const ToolCallConnection = builder.connectionObject(
  { type: ToolCall, name: 'ToolCallConnection', description: 'A page of tool calls.' },
  { name: 'ToolCallEdge', description: 'A tool call and its cursor.' },
)
