/** A message that answers a request in words, instead of saying something to the agent. */
import type { Message } from './deliveries.js'
import { mayAnswer, readText, type AnswerValue, type Request } from './requests.js'

export interface SpokenAnswer {
  readonly kind: 'SPOKEN'
  readonly message: Message
  readonly request: Request
  readonly value: AnswerValue
}

/**
 * The message as an answer to the oldest open request that its sender may answer and that takes its text. What was said before a request
 * opened never answers it.
 */
export function answeredBy(message: Message, requests: readonly Request[]): SpokenAnswer | null {
  for (const request of requests) {
    if (message.position <= request.openedAfter || !mayAnswer(request, message.by, message.authority ?? [])) continue
    const value = readText(request, message.text)
    if (value !== null) return { kind: 'SPOKEN', message, request, value }
  }
  return null
}
