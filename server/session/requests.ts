/**
 * What a session asks of a person: to allow a call, to answer a question, to sign in, to go on over a budget. A request is opened and
 * settled by commits; who may answer is decided when the answer is accepted, and once more here for answers in plain text.
 */
import type { Json } from '../errors.js'
import type { CallId, RequestId, TurnId } from '../ids.js'
import type { Principal } from './principal.js'

export const REQUEST_KINDS = ['APPROVAL', 'QUESTION', 'AUTHORIZATION', 'LIMIT'] as const
export type RequestKind = (typeof REQUEST_KINDS)[number]
export const APPROVAL_DECISIONS = ['APPROVE', 'DENY'] as const
export type ApprovalDecision = (typeof APPROVAL_DECISIONS)[number]

export interface RequestOption {
  readonly id: string
  readonly label: string
  readonly description: string | null
}

/** What is asked, before it is opened. */
export interface RequestSpec {
  readonly kind: RequestKind
  /** For the person who answers. */
  readonly prompt: string
  readonly options: readonly RequestOption[]
  /** How many options an answer has to name, and may. */
  readonly minSelections: number
  readonly maxSelections: number
  /** Also takes words of one's own. */
  readonly allowsText: boolean
  /** `principal:x`, `role:x` or `scope:x`; empty: whom the turn serves. */
  readonly reviewers: readonly string[]
  /** Null: it stays open for as long as its turn does. */
  readonly expiresAfterMs: number | null
  /** What an approval comes to when nobody decides in time. */
  readonly onExpire: ApprovalDecision
  /** Approving it allows the tool to the person served for the rest of the session. */
  readonly grants: boolean
  /** Where to sign in. */
  readonly url: string | null
}

/** An open request. */
export interface Request extends Omit<RequestSpec, 'expiresAfterMs'> {
  readonly id: RequestId
  readonly turnId: TurnId
  /** Null: the turn itself asks. */
  readonly callId: CallId | null
  /** Of the call's arguments as they were shown: what runs is what was approved. */
  readonly inputHash: string | null
  /** Whom the turn serves. */
  readonly served: Principal
  readonly openedAt: number
  /** Position of the newest delivery when it opened: nothing that was said before answers it. */
  readonly openedAfter: number
  readonly expiresAt: number | null
}

/** Approve or deny. Without reviewers: whom the turn serves decides, and may take as long as he likes. */
export function askApproval(
  prompt: string,
  change: Partial<Pick<RequestSpec, 'reviewers' | 'expiresAfterMs' | 'onExpire' | 'grants'>> = {},
): RequestSpec {
  return {
    ...{ kind: 'APPROVAL', prompt, options: DECISIONS, minSelections: 1, maxSelections: 1, allowsText: false },
    ...{ reviewers: [], expiresAfterMs: null, onExpire: 'DENY', grants: false, url: null },
    ...change,
  }
}

const DECISIONS: readonly RequestOption[] = [
  { id: 'approve', label: 'Approve', description: null },
  { id: 'deny', label: 'Deny', description: null },
]

/** What an answer says: one of these. `""`, 0 and false are answers. */
export interface AnswerValue {
  readonly decision: ApprovalDecision | null
  readonly optionIds: readonly string[]
  readonly text: string | null
  /** Null: none was given. */
  readonly json: Json
}
export interface Answer extends AnswerValue {
  readonly requestId: RequestId
  /** In the words of who answers, for the model and the record. */
  readonly reason: string | null
}
/** As it is kept with its request. */
export interface RecordedAnswer extends AnswerValue {
  readonly reason: string | null
  readonly by: Principal
  readonly at: number
}
export type RequestOutcome = 'ANSWERED' | 'CANCELLED' | 'EXPIRED'

export const NO_ANSWER: AnswerValue = { decision: null, optionIds: [], text: null, json: null }

// ---- who may answer

/** The authority that an answer needs one of. `anyone`: whoever reaches the session. Every word has a prefix, so that no name can pass for another. */
export function answerableBy({ reviewers, served }: Pick<Request, 'reviewers' | 'served'>): readonly string[] {
  if (reviewers.length > 0) return reviewers
  return served.kind === 'ANONYMOUS' ? ['anyone'] : [servedBy(served)]
}

/** The authority of somebody who answers. `authority`: its roles and scopes. Nobody knows who is anonymous. */
export function authorityOf(by: Principal, authority: readonly string[]): readonly string[] {
  const known = by.kind === 'ANONYMOUS' ? [] : [`principal:${by.id}`, servedBy(by)]
  return ['anyone', ...known, ...authority]
}

export function mayAnswer(request: Pick<Request, 'reviewers' | 'served'>, by: Principal, authority: readonly string[]): boolean {
  const has = authorityOf(by, authority)
  return answerableBy(request).some((word) => has.includes(word))
}

function servedBy({ kind, id }: Principal): string {
  return `served:${kind}:${id}`
}

/** Option id, label, or its number from 1; several where several may be chosen, with commas; else the words themselves. Null: it takes none of it. */
export function readText(
  request: Pick<Request, 'kind' | 'options' | 'minSelections' | 'maxSelections' | 'allowsText'>,
  text: string,
): AnswerValue | null {
  const { options, minSelections, maxSelections } = request
  const named = findOption(options, text)
  const words = named === null && maxSelections > 1 ? text.split(',') : [text]
  const found = words.map((word) => findOption(options, word))
  const optionIds = [...new Set(found.filter((id) => id !== null))]
  const chosen = !found.includes(null) && optionIds.length >= Math.max(1, minSelections) && optionIds.length <= maxSelections
  if (chosen) return toChoice(request.kind, optionIds)
  return request.allowsText ? { ...NO_ANSWER, text } : null
}

function findOption(options: readonly RequestOption[], text: string): string | null {
  const word = text.trim().toLowerCase()
  const index = /^\d{1,3}$/.test(word) ? Number(word) : 0
  const found =
    options.find(({ id }) => id.toLowerCase() === word) ??
    options.find(({ label }) => label.trim().toLowerCase() === word) ??
    options[index - 1]
  return found?.id ?? null
}

/** The options of approvals and sign-ins are decisions. */
export function toChoice(kind: RequestKind, optionIds: readonly string[]): AnswerValue {
  if (kind === 'APPROVAL' || kind === 'AUTHORIZATION') return { ...NO_ANSWER, decision: optionIds.includes('approve') ? 'APPROVE' : 'DENY' }
  return { ...NO_ANSWER, optionIds }
}
