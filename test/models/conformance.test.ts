import { openaiChat } from '../../server/models/openai-chat.js'
import { openaiResponses } from '../../server/models/openai-responses.js'
import type { ScriptedAnswer } from '../../server/models/script.js'
import { scripted, scriptedFailure } from '../../server/models/scripted.js'
import { modelClientConformance, type Behaviour } from '../conformance/model-client.js'
import { openOpenAiBackend } from '../support/openai-backend.js'
import { chatContentEvents, responsesContentEvents, toChatEvents, toResponsesEvents } from '../support/openai-wire.js'

modelClientConformance('openaiChat', () =>
  openOpenAiBackend({
    client: (model, baseUrl) => openaiChat({ model, baseUrl, apiKey: 'none' }),
    events: (answer, part) => (part === 'whole' ? toChatEvents(answer) : chatContentEvents(answer)),
  }),
)

modelClientConformance('openaiResponses', () =>
  openOpenAiBackend({
    client: (model, baseUrl) => openaiResponses({ model, baseUrl, apiKey: 'none' }),
    events: (answer, part) => (part === 'whole' ? toResponsesEvents(answer) : responsesContentEvents(answer)),
  }),
)

modelClientConformance('scripted', () =>
  Promise.resolve({
    client: (behaviour) => scripted(() => toScripted(behaviour)),
    close: () => Promise.resolve(),
  }),
)

function toScripted({ refusal, calls, then, rateLimitedMs, ...answer }: Behaviour): ScriptedAnswer {
  if (rateLimitedMs !== undefined) throw scriptedFailure('MODEL_RATE_LIMITED', { retryAfterMs: rateLimitedMs })
  return {
    ...answer,
    ...(refusal === undefined ? {} : { text: refusal }),
    ...(calls === undefined ? {} : { calls: calls.map((call) => ({ name: call.name, rawInput: call.raw })) }),
    ...(then === 'cut' ? { fail: scriptedFailure('MODEL_UNAVAILABLE') } : {}),
    ...(then === 'silence' ? { hang: true } : {}),
  }
}
