/** Small facts that many types carry: who, how much, what went wrong. */
import type { Failure as StoredFailure } from '../../errors.js'
import type { Principal as StoredPrincipal } from '../../session/principal.js'
import type { TokenUsage as StoredUsage } from '../../session/usage.js'
import { builder } from '../builder.js'
import { PrincipalKind } from './enums.js'

export const Principal = builder.objectRef<StoredPrincipal>('Principal').implement({
  description: 'The person or program behind a request, an owner, or the author of a message.',
  fields: (t) => ({
    tenant: t.exposeString('tenant', { description: 'Tenants never see anything of one another.' }),
    id: t.exposeString('id', { description: 'Unique within the tenant and the kind.' }),
    kind: t.field({ type: PrincipalKind, description: 'What sort of caller.', resolve: ({ kind }) => kind }),
    name: t.string({ nullable: true, description: 'For people to read.', resolve: ({ name }) => name ?? null }),
  }),
})

export const Failure = builder.objectRef<StoredFailure>('Failure').implement({
  description: 'Why a turn, a step, a call or a session failed, or why a delivery was rejected.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'Stable, upper case, e.g. `MODEL_RATE_LIMITED`; the set grows.' }),
    message: t.exposeString('message', { description: 'A sentence for people: what happened and how to mend it.' }),
    retryable: t.exposeBoolean('retryable', { description: 'Whether the same again may succeed.' }),
    details: t.field({
      type: 'JSONObject',
      nullable: true,
      description: 'What else is known, by code.',
      resolve: ({ details }) => details ?? null,
    }),
  }),
})

export const TokenUsage = builder.objectRef<StoredUsage>('TokenUsage').implement({
  description: 'What the model read and wrote, in tokens, as its provider counts. A count that was not reported is null, never 0.',
  fields: (t) => ({
    promptTokens: t.expose('promptTokens', { type: 'SafeInt', nullable: true, description: 'Read, cached ones included.' }),
    completionTokens: t.expose('completionTokens', { type: 'SafeInt', nullable: true, description: 'Written, reasoning included.' }),
    cacheTokens: t.expose('cacheTokens', { type: 'SafeInt', nullable: true, description: "Of those read, found in the provider's cache." }),
    reasoningTokens: t.expose('reasoningTokens', { type: 'SafeInt', nullable: true, description: 'Of those written, reasoning.' }),
    totalTokens: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'Read and written together; null when either is missing.',
      resolve: ({ promptTokens, completionTokens }) =>
        promptTokens === null || completionTokens === null ? null : promptTokens + completionTokens,
    }),
    costUsd: t.exposeFloat('costUsd', { nullable: true, description: 'What it cost, US dollars, where the provider tells.' }),
    incomplete: t.exposeBoolean('incomplete', { description: 'Whether a model call is missing in the sum.' }),
  }),
})
