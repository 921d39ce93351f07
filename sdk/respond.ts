/** Answers to what sessions ask of people. */
import { toReceipt, type ActOptions, type DeliveryReceipt } from './delivery.js'
import { RespondDocument } from './generated/documents.js'
import type { AnswerValueInput } from './generated/operations.js'
import type { Transport } from './transport.js'

/** What is said: one of `decision`, `optionIds`, `text` and `json`. An empty text, 0 and false are answers. */
export type AnswerValue = AnswerValueInput
export type Answer = AnswerValue & {
  readonly requestId: string
  /** For the model, and for the record. */
  readonly reason?: string | undefined
}

export interface RespondOptions extends ActOptions {}

/** All of them are accepted together or none; the request is repeated under one key until it is answered (T1). */
export async function respond(
  transport: Transport,
  sessionId: string,
  answers: readonly Answer[],
  options: RespondOptions = {},
): Promise<DeliveryReceipt> {
  const { signal, actor, idempotencyKey = transport.runtime.newKey() } = options
  const input = {
    session: { id: sessionId },
    answers: answers.map(({ requestId, reason, ...value }) => ({ requestId, reason: reason ?? null, value })),
    ...(actor !== undefined && { actor }),
    idempotencyKey,
  }
  return toReceipt((await transport.request(RespondDocument, { input }, { signal })).respond)
}
