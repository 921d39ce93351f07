/** What a session asks of people, as something that one can answer. */
import type { DeliveryReceipt } from './delivery.js'
import type { ApprovalDecision, InputRequestFieldsFragment } from './generated/operations.js'
import { respond, type AnswerValue, type RespondOptions } from './respond.js'
import type { Transport } from './transport.js'

/** What a request is, as it was when it was read. */
export interface InputRequestInfo extends InputRequestFieldsFragment {}

/** A text; the id or the label of an option, or several of them; or anything else as JSON. */
export type Reply = string | readonly string[] | { readonly json: unknown }

export interface ReplyOptions extends RespondOptions {
  /** For the model, and for the record. */
  readonly reason?: string | undefined
}

/**
 * A request that can be answered. The first answer that is accepted counts: RequestNotPendingError has it for whoever comes later,
 * ForbiddenError tells who may not answer. The same answer given again by the same object changes nothing and gives the first receipt.
 */
export interface InputRequest extends InputRequestInfo {
  /** Lets the call run, exactly as it was shown. `reason` is for the model and the record. */
  approve(reason?: string, options?: RespondOptions): Promise<DeliveryReceipt>
  /** The call does not run, and the model reads the reason. Of a sign-in: declines it. */
  deny(reason?: string, options?: RespondOptions): Promise<DeliveryReceipt>
  /** A text that is the id or the label of an option chooses it; any other is said as it is, where that is allowed. */
  answer(reply: Reply, options?: ReplyOptions): Promise<DeliveryReceipt>
}

export function createInputRequest(transport: Transport, info: InputRequestInfo): InputRequest {
  const keys = new Map<string, string>()
  /** One key for each thing that is said. */
  const keyOf = (said: unknown): string => {
    const text = JSON.stringify(said)
    const key = keys.get(text) ?? transport.runtime.newKey()
    keys.set(text, key)
    return key
  }
  const give = (value: AnswerValue, { reason, ...options }: ReplyOptions): Promise<DeliveryReceipt> => {
    const idempotencyKey = options.idempotencyKey ?? keyOf([value, reason, options.actor])
    return respond(transport, info.sessionId, [{ ...value, requestId: info.id, reason }], { ...options, idempotencyKey })
  }
  const decide = (decision: ApprovalDecision, reason: string | undefined, options: RespondOptions = {}): Promise<DeliveryReceipt> =>
    give({ decision }, { ...options, reason })
  return {
    ...info,
    approve: (reason, options) => decide('APPROVE', reason, options),
    deny: (reason, options) => decide('DENY', reason, options),
    answer: (reply, options = {}) => give(toValue(info, reply), options),
  }
}

function toValue({ kind, options }: InputRequestInfo, reply: Reply): AnswerValue {
  if (typeof reply !== 'string' && 'json' in reply) return reply
  const words = typeof reply === 'string' ? [reply] : reply
  const found = words.map((word) => findOption(options, word))
  if (typeof reply === 'string' && found[0] === undefined) return { text: reply }
  // Which one there is not is the server's to say.
  const optionIds = words.map((word, at) => found[at] ?? word)
  const decides = (kind === 'APPROVAL' || kind === 'AUTHORIZATION') && optionIds.length === 1
  const decision = decides ? DECISIONS.get(optionIds[0] ?? '') : undefined
  return decision === undefined ? { optionIds } : { decision }
}

/** The options of approvals and sign-ins. */
const DECISIONS: ReadonlyMap<string, ApprovalDecision> = new Map([
  ['approve', 'APPROVE'],
  ['deny', 'DENY'],
])

function findOption(options: InputRequestInfo['options'], word: string): string | undefined {
  const wanted = toKey(word)
  return (options.find(({ id }) => toKey(id) === wanted) ?? options.find(({ label }) => toKey(label) === wanted))?.id
}

function toKey(word: string): string {
  return word.trim().toLowerCase()
}
