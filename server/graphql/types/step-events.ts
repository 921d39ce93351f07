/** Events of a step: the model is called, and writes. */
import type { InterruptReason as Reason } from '../../session/events.js'
import { NO_USAGE } from '../../session/usage.js'
import { builder } from '../builder.js'
import { FinishReason } from './enums.js'
import { eventRef, SessionEvent } from './event.js'
import { Failure, TokenUsage } from './facts.js'

const InterruptReason = builder.enumType('InterruptReason', {
  description: 'Why an attempt of a step is over without an outcome.',
  values: {
    WORKER_LOST: { description: 'The process that called the model was lost; another calls it again.' },
    STEERED: { description: 'A message came, and the model is called again with it.' },
    CANCELLED: { description: 'The turn was cancelled, or the session ended.' },
    TIMED_OUT: { description: 'The turn reached its limit of time.' },
  } satisfies { readonly [Each in Reason]: { readonly description: string } },
})

eventRef('STEP_STARTED').implement({
  description: 'The model is about to be called.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    model: t.string({ description: 'The model.', resolve: ({ data }) => data.model }),
  }),
})

eventRef('STEP_COMPLETED').implement({
  description: 'The model has answered.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    finishReason: t.field({
      type: FinishReason,
      nullable: true,
      description: 'Why it stopped writing.',
      resolve: ({ data }) => data.finishReason,
    }),
    usage: t.field({
      type: TokenUsage,
      description: 'Tokens of this call; `incomplete` when the provider did not tell.',
      resolve: ({ data }) => data.usage ?? { ...NO_USAGE, incomplete: true },
    }),
  }),
})

eventRef('STEP_RETRYING').implement({
  description: 'The provider failed and is called again. Retracts the unfinished blocks of the attempt.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    error: t.field({ type: Failure, nullable: true, description: 'What the provider said.', resolve: ({ data }) => data.error }),
    delayMs: t.field({ type: 'SafeInt', description: 'Milliseconds until the next attempt.', resolve: ({ data }) => data.delayMs }),
  }),
})

eventRef('STEP_INTERRUPTED').implement({
  description: 'The attempt is over without an outcome. Retracts its unfinished blocks, unless they were completed as interrupted.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    reason: t.field({ type: InterruptReason, description: 'Why.', resolve: ({ data }) => data.reason }),
  }),
})

eventRef('STEP_FAILED').implement({
  description: 'The provider failed, and retries are used up.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    error: t.field({ type: Failure, nullable: true, description: 'What the provider said.', resolve: ({ data }) => data.error }),
  }),
})

const OFFSET = 'UTF-16 code units of it before this piece; other than what you have: wait for the finished one.'

eventRef('LLM_CHUNK').implement({
  description: 'Text, as it comes.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    blockId: t.id({ description: 'The block that it continues.', resolve: ({ data }) => data.blockId }),
    offset: t.int({ description: OFFSET, resolve: ({ data }) => data.offset }),
    text: t.string({ description: 'The piece.', resolve: ({ data }) => data.text }),
  }),
})

eventRef('LLM_REASONING').implement({
  description: 'Reasoning, as it comes.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    blockId: t.id({ description: 'The block that it continues.', resolve: ({ data }) => data.blockId }),
    offset: t.int({ description: OFFSET, resolve: ({ data }) => data.offset }),
    text: t.string({ description: 'The piece.', resolve: ({ data }) => data.text }),
  }),
})

eventRef('MESSAGE_COMPLETED').implement({
  description: 'The finished block of text. It holds, whatever its chunks were.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    blockId: t.id({ description: 'The block.', resolve: ({ data }) => data.blockId }),
    text: t.string({ description: 'All of it.', resolve: ({ data }) => data.text }),
    finishReason: t.field({
      type: FinishReason,
      nullable: true,
      description: 'Why the model stopped writing; null when it was interrupted.',
      resolve: ({ data }) => data.finishReason,
    }),
    interrupted: t.boolean({ description: 'Whether it was cut short.', resolve: ({ data }) => data.interrupted }),
  }),
})

eventRef('REASONING_COMPLETED').implement({
  description: 'The finished block of reasoning. It holds, whatever its chunks were.',
  interfaces: [SessionEvent],
  fields: (t) => ({
    blockId: t.id({ description: 'The block.', resolve: ({ data }) => data.blockId }),
    text: t.string({ description: 'All of it.', resolve: ({ data }) => data.text }),
    interrupted: t.boolean({ description: 'Whether it was cut short.', resolve: ({ data }) => data.interrupted }),
  }),
})
