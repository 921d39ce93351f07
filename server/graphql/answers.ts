/** From what somebody answers to what it says: whether it fits its request, and which of the four ways to say it was taken. */
import type { Json } from '../errors.js'
import { NO_ANSWER, toChoice, type AnswerValue, type ApprovalDecision, type Request } from '../session/requests.js'
import type { InputIssue } from './problems.js'

/** As it is given: exactly one of these. `""`, 0 and false are given; null is not. */
export interface GivenValue {
  readonly decision?: ApprovalDecision | null | undefined
  readonly optionIds?: readonly string[] | null | undefined
  readonly text?: string | null | undefined
  readonly json?: Json | undefined
}
export type Answerable = Pick<Request, 'kind' | 'options' | 'minSelections' | 'maxSelections' | 'allowsText' | 'url'>

/** What somebody reads who gave none, or several. */
const ONE_OF = 'give exactly one of decision, optionIds, text and json'
const OPTION_OF: Readonly<Record<ApprovalDecision, { readonly decision: string; readonly limit: string }>> = {
  APPROVE: { decision: 'approve', limit: 'continue' },
  DENY: { decision: 'deny', limit: 'stop' },
}

/** The answer, or why it is none; the path of the issue begins in the value. */
export function resolveAnswer(request: Answerable, { decision, optionIds, text, json }: GivenValue): AnswerValue | InputIssue {
  if ([decision, optionIds, text, json].filter((given) => given !== null && given !== undefined).length !== 1) return issue([], ONE_OF)
  if (decision) return decide(request, decision)
  if (optionIds) return choose(request, optionIds)
  const path = typeof text === 'string' ? 'text' : 'json'
  if (!request.allowsText) return issue([path], `is not taken: ${whatIsTaken(request)}`)
  return typeof text === 'string' ? { ...NO_ANSWER, text } : { ...NO_ANSWER, json: json ?? null }
}

function decide(request: Answerable, decision: ApprovalDecision): AnswerValue | InputIssue {
  switch (request.kind) {
    case 'APPROVAL':
    case 'AUTHORIZATION':
      return isSignIn(request, decision) ? issue(['decision'], whereToSignIn(request)) : { ...NO_ANSWER, decision }
    case 'LIMIT':
      return { ...NO_ANSWER, optionIds: [OPTION_OF[decision].limit] }
    case 'QUESTION':
      return issue(['decision'], `is not taken: ${whatIsTaken(request)}`)
  }
}

function choose(request: Answerable, given: readonly string[]): AnswerValue | InputIssue {
  const known = idsOf(request)
  const unknown = given.findIndex((id) => !known.includes(id))
  if (unknown !== -1) return issue(['optionIds', String(unknown)], `is no option of this request: ${whatIsTaken(request)}`)
  const chosen = [...new Set(given)]
  const { least, most } = boundsOf(request)
  if (chosen.length < least) return issue(['optionIds'], `names too few (${chosen.length}, at least ${least}): ${whatIsTaken(request)}`)
  if (chosen.length > most) return issue(['optionIds'], `names too many (${chosen.length}, at most ${most}): ${whatIsTaken(request)}`)
  const value = toChoice(request.kind, chosen)
  return isSignIn(request, value.decision) ? issue(['optionIds', '0'], whereToSignIn(request)) : value
}

/** Approvals and sign-ins have these, however they are shown. */
function idsOf({ kind, options }: Answerable): readonly string[] {
  return isDecided(kind) ? [OPTION_OF.APPROVE.decision, OPTION_OF.DENY.decision] : options.map(({ id }) => id)
}

/** To choose nothing is no answer. */
function boundsOf({ kind, minSelections, maxSelections }: Answerable): { readonly least: number; readonly most: number } {
  return isDecided(kind) ? { least: 1, most: 1 } : { least: Math.max(1, minSelections), most: maxSelections }
}

function isDecided(kind: Answerable['kind']): boolean {
  return kind === 'APPROVAL' || kind === 'AUTHORIZATION'
}

/** Nobody signs in by saying so. */
function isSignIn({ kind }: Answerable, decision: ApprovalDecision | null): boolean {
  return kind === 'AUTHORIZATION' && decision === 'APPROVE'
}

function whereToSignIn({ url }: Answerable): string {
  return `cannot sign in for you; sign in at its URL${url === null ? '' : `, ${url}`}, or answer with DENY`
}

function whatIsTaken({ kind, options, allowsText }: Answerable): string {
  switch (kind) {
    case 'APPROVAL':
      return 'answer with decision APPROVE or DENY'
    case 'AUTHORIZATION':
      return 'sign in at its URL, or answer with decision DENY'
    case 'LIMIT':
      return 'answer with optionIds ["continue"] or ["stop"]'
    case 'QUESTION': {
      const ids = options.map(({ id }) => JSON.stringify(id)).join(', ')
      if (options.length === 0) return 'answer with text or json'
      return `choose from optionIds ${ids}${allowsText ? ', or answer with text or json' : ''}`
    }
  }
}

function issue(path: readonly string[], message: string): InputIssue {
  return { path, message }
}
