/** Who has to allow a call before it runs: the policy of its tool, then the rules of its agent. */
import { PerdureError } from '../errors.js'
import type { ApprovalContext, Verdict } from '../session/agent-port.js'
import { askApproval, type ApprovalDecision } from '../session/requests.js'
import { isRecord, refuseUnknownOptions } from './loose-options.js'

/** How somebody is asked. */
export interface AskOptions {
  /** For the person who decides. Default: `Allow <the call's label, or the tool's name>?` */
  readonly prompt?: string
  /**
   * Who may decide: ids of principals, `role:x`, `scope:x`. Default: whom the turn serves. `principal:x` is the long form, for ids that begin with
   * one of these words.
   */
  readonly reviewers?: readonly string[]
  /** Milliseconds. Default: for as long as the turn is open. */
  readonly expiresAfterMs?: number
  /** What it comes to when nobody decides in time. Default `DENY`. */
  readonly onExpire?: ApprovalDecision
}

/** What a policy says of a call: it runs; it does not, and why; somebody is asked first. */
export type ApprovalVerdict = 'allow' | 'deny' | 'ask' | { readonly deny: string } | { readonly ask: AskOptions }

/**
 * - `never` (the default): the tool runs without asking.
 * - `always`: somebody is asked before each call.
 * - `once`: until somebody has allowed it; from then on it runs for the person that the turn served, for the rest of the session.
 * - a function: judges each call. One that throws, or says none of this, is no leave: the call does not run.
 */
export type ApprovalPolicy<Input> =
  'never' | 'always' | 'once' | ((context: ApprovalContext<Input>) => ApprovalVerdict | Promise<ApprovalVerdict>)

/** Asks for calls of an agent, whatever their tools say. The first rule that matches a call decides how. */
export interface ApprovalRule extends Omit<AskOptions, 'prompt'> {
  /** The tool's name; `*` stands for any characters. */
  readonly tool: string
  /** For people who look at the agent. */
  readonly description?: string
  /** Only for calls of which this is true. One that throws counts as true. */
  readonly when?: (context: ApprovalContext) => boolean | Promise<boolean>
  readonly prompt?: string | ((context: ApprovalContext) => string)
}

const RULE_OPTIONS = ['tool', 'description', 'when', 'prompt', 'reviewers', 'expiresAfterMs', 'onExpire'] as const
const MAX_PROMPT = 2000

type Refuse = (problem: string) => never
/** How the tool itself judges a call; `label` is what people read instead of its name. */
export type Judgement = (context: ApprovalContext, label: string) => Promise<Verdict>

/** Null: it never asks. */
export function compilePolicy<Input>(
  policy: ApprovalPolicy<Input>,
  parse: (input: ApprovalContext['input']) => Promise<Input>,
  refuse: Refuse,
): Judgement | null {
  if (policy === 'never') return null
  if (policy === 'always') return async (_, label) => ask(label, {})
  if (policy === 'once') return async (context, label) => ((await context.isGranted()) ? { kind: 'allow' } : ask(label, {}, true))
  if (typeof policy !== 'function') return refuse(`approval must be 'never', 'once', 'always' or a function, not ${JSON.stringify(policy)}`)
  return async (context, label) => toVerdict(await policy({ ...context, input: await parse(context.input) }), label, context)
}

/** What an author without a type checker may say too. */
function toVerdict(verdict: unknown, label: string, { tool }: ApprovalContext): Verdict {
  if (verdict === 'allow') return { kind: 'allow' }
  if (verdict === 'deny') return { kind: 'deny', reason: null }
  if (verdict === 'ask') return ask(label, {})
  if (isRecord(verdict) && 'deny' in verdict && typeof verdict.deny === 'string') return { kind: 'deny', reason: verdict.deny }
  if (isRecord(verdict) && 'ask' in verdict && isRecord(verdict.ask)) return ask(label, readAsk(verdict.ask, fail))
  throw new PerdureError('AGENT_INVALID', `the approval policy of ${tool} said ${JSON.stringify(verdict)}, which is no verdict`)
}

function ask(label: string, { prompt, reviewers, expiresAfterMs, onExpire }: AskOptions, grants = false): Verdict {
  const change = {
    reviewers: (reviewers ?? []).map(toReviewer),
    expiresAfterMs: expiresAfterMs ?? null,
    onExpire: onExpire ?? 'DENY',
    grants,
  } as const
  return { kind: 'ask', request: askApproval(cut(prompt ?? `Allow ${label}?`), change) }
}

/** Throws AGENT_INVALID through `refuse`. */
export function checkRules(rules: readonly ApprovalRule[], refuse: Refuse): readonly ApprovalRule[] {
  if (!isList(rules)) {
    return refuse("approvals must be a list of rules, e.g. approvals: [{ tool: 'refund_*', reviewers: ['role:manager'] }]")
  }
  for (const [index, rule] of rules.entries()) checkRule(rule, (problem) => refuse(`approvals[${index}]: ${problem}`))
  return rules
}

function isList(value: unknown): boolean {
  return Array.isArray(value)
}

function checkRule(rule: ApprovalRule, refuse: Refuse): void {
  if (!isRecord(rule)) refuse('a rule is an object with a tool')
  refuseUnknownOptions(rule, RULE_OPTIONS, refuse)
  const { tool, description, when, prompt } = rule
  if (typeof tool !== 'string' || tool === '') refuse("tool must be a tool's name, in which * stands for any characters")
  if (description !== undefined && typeof description !== 'string') refuse('description must be a text')
  if (when !== undefined && typeof when !== 'function') refuse('when must be a function of the call')
  if (prompt !== undefined && typeof prompt !== 'string' && typeof prompt !== 'function') {
    refuse('prompt must be a text or a function of the call')
  }
  readAsk({ reviewers: rule.reviewers, expiresAfterMs: rule.expiresAfterMs, onExpire: rule.onExpire }, refuse)
}

/** Null: none asks for it. */
export function rulesFor(tool: string, rules: readonly ApprovalRule[]): Judgement | null {
  const matching = rules.filter((rule) => toPattern(rule.tool).test(tool))
  if (matching.length === 0) return null
  return async (context, label) => {
    for (const rule of matching) {
      if (!(await applies(rule, context))) continue
      const { prompt: _, ...options } = rule
      const prompt = promptOf(rule, context)
      return ask(label, prompt === null ? options : { ...options, prompt })
    }
    return { kind: 'allow' }
  }
}

async function applies({ when, tool }: ApprovalRule, context: ApprovalContext): Promise<boolean> {
  if (when === undefined) return true
  try {
    const applies: unknown = await when(context)
    return applies !== false
  } catch (thrown) {
    context.log.error(`the condition of the approval rule for ${tool} failed; a person is asked`, { err: thrown })
    return true
  }
}

/** Null: the usual words. */
function promptOf({ prompt, tool }: ApprovalRule, context: ApprovalContext): string | null {
  if (typeof prompt !== 'function') return prompt ?? null
  try {
    const text: unknown = prompt(context)
    return typeof text === 'string' && text.trim() !== '' ? text : null
  } catch (thrown) {
    context.log.error(`the prompt of the approval rule for ${tool} failed; the usual words are shown`, { err: thrown })
    return null
  }
}

function toPattern(glob: string): RegExp {
  return new RegExp(
    `^${glob
      .split('*')
      .map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
      .join('.*')}$`,
  )
}

/** How to ask, checked: of an author without a type checker too. */
export function readAsk({ prompt, reviewers, expiresAfterMs, onExpire }: Loose<AskOptions>, refuse: Refuse): AskOptions {
  if (prompt !== undefined && typeof prompt !== 'string') return refuse('prompt must be a text')
  if (reviewers !== undefined && !isNames(reviewers)) return refuse("reviewers must be a list of ids, 'role:x' or 'scope:x'")
  if (expiresAfterMs !== undefined && !(typeof expiresAfterMs === 'number' && Number.isSafeInteger(expiresAfterMs) && expiresAfterMs > 0)) {
    return refuse(`expiresAfterMs must be a whole number of milliseconds over 0, not ${JSON.stringify(expiresAfterMs)}`)
  }
  if (onExpire !== undefined && onExpire !== 'APPROVE' && onExpire !== 'DENY') {
    return refuse(`onExpire must be 'APPROVE' or 'DENY', not ${JSON.stringify(onExpire)}`)
  }
  return {
    ...(prompt !== undefined && { prompt }),
    ...(reviewers !== undefined && { reviewers }),
    ...(expiresAfterMs !== undefined && { expiresAfterMs }),
    ...(onExpire !== undefined && { onExpire }),
  }
}

type Loose<Options> = { readonly [Key in keyof Options]?: unknown }

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one: unknown) => typeof one === 'string' && one.trim() !== '')
}

/** A policy that asks in a way that makes no sense has failed. */
function fail(problem: string): never {
  throw new PerdureError('AGENT_INVALID', problem)
}

export function toReviewer(name: string): string {
  return /^(role|scope|principal):/.test(name) ? name : `principal:${name}`
}

function cut(text: string): string {
  return text.length <= MAX_PROMPT ? text : `${text.slice(0, MAX_PROMPT - 1)}…`
}
