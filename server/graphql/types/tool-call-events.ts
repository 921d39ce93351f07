/** Events of a tool call: asked for once, started at most once, ended exactly once. */
import { ToolCallStatus } from './enums.js'
import { eventRef, SessionEvent } from './event.js'
import { Failure } from './facts.js'

eventRef('LLM_TOOL_INPUT').implement({
  description: 'Raw arguments of a call, as they come.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    callId: t.id({ description: 'The call.', resolve: ({ data }) => data.callId }),
    name: t.string({ description: 'The tool.', resolve: ({ data }) => data.name }),
    offset: t.int({ description: 'UTF-16 code units of the arguments before this piece.', resolve: ({ data }) => data.offset }),
    text: t.string({ description: 'The piece.', resolve: ({ data }) => data.text }),
  }),
})

eventRef('TOOL_CALL_REQUESTED').implement({
  description: 'The model asked for a call, valid or not.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    callId: t.id({ description: 'The call.', resolve: ({ data }) => data.callId }),
    name: t.string({ description: 'The tool.', resolve: ({ data }) => data.name }),
    label: t.string({ nullable: true, description: 'What a person reads instead of the name.', resolve: ({ data }) => data.label }),
    input: t.field({ type: 'JSON', nullable: true, description: 'The arguments.', resolve: ({ data }) => data.input }),
    inputError: t.string({ nullable: true, description: 'Why it cannot run as it was asked for.', resolve: ({ data }) => data.inputError }),
  }),
})

eventRef('TOOL_CALL_START').implement({
  description: 'The code of a call is about to run. At most once a call.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    callId: t.id({ description: 'The call.', resolve: ({ data }) => data.callId }),
    name: t.string({ description: 'The tool.', resolve: ({ data }) => data.name }),
  }),
})

eventRef('TOOL_CALL_PROGRESS').implement({
  description: 'A partial output. The newest wins.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    callId: t.id({ description: 'The call.', resolve: ({ data }) => data.callId }),
    output: t.field({ type: 'JSON', nullable: true, description: 'The output so far.', resolve: ({ data }) => data.output }),
  }),
})

eventRef('TOOL_CALL_END').implement({
  description: 'A call has its result. Exactly once a call.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    callId: t.id({ description: 'The call.', resolve: ({ data }) => data.callId }),
    name: t.string({ description: 'The tool.', resolve: ({ data }) => data.name }),
    status: t.field({ type: ToolCallStatus, description: 'How it ended.', resolve: ({ data }) => data.status }),
    output: t.field({ type: 'JSON', nullable: true, description: 'What the tool gave.', resolve: ({ data }) => data.output }),
    error: t.field({ type: Failure, nullable: true, description: 'Why it gave no result.', resolve: ({ data }) => data.error }),
    durationMs: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'From start to end, milliseconds; null when it never started.',
      resolve: ({ data }) => data.durationMs,
    }),
  }),
})
