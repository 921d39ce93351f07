/** Our OpenAI-compatible server as a backend of the conformance suite: the behaviour travels in the name of the model. */
import { isRecord, textAt } from '../../server/models/loose-json.js'
import type { ModelClient } from '../../server/session/model.js'
import type { Behaviour, ModelBackend } from '../conformance/model-client.js'
import { errorReply, startOpenAiServer, type Reply } from './openai-server.js'
import { toStream, type WireAnswer } from './openai-wire.js'

export interface Protocol {
  client(model: string, baseUrl: string): ModelClient
  /** The whole answer, or what comes of it before its end. */
  events(answer: WireAnswer, part: 'whole' | 'content'): readonly string[]
}

export async function openOpenAiBackend(protocol: Protocol): Promise<ModelBackend> {
  const behaviours = new Map<string, Behaviour>()
  const server = await startOpenAiServer(({ body }) => {
    const behaviour = isRecord(body) ? behaviours.get(textAt(body, 'model')) : undefined
    if (behaviour === undefined) throw new Error('a call for a model that no test made')
    return toReply(behaviour, protocol)
  })
  return {
    client: (behaviour) => {
      const model = `model-${behaviours.size}`
      behaviours.set(model, behaviour)
      return protocol.client(model, server.baseUrl)
    },
    close: () => server.close(),
  }
}

function toReply(behaviour: Behaviour, protocol: Protocol): Reply {
  if (behaviour.rateLimitedMs !== undefined) {
    const error = { message: 'Rate limit reached', type: 'requests', code: 'rate_limit_exceeded' }
    return errorReply(429, error, { 'retry-after-ms': String(behaviour.rateLimitedMs) })
  }
  const ending = behaviour.then ?? 'end'
  return { pieces: [toStream(protocol.events(behaviour, ending === 'end' ? 'whole' : 'content'))], then: ending }
}
