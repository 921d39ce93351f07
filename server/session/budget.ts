/** What a session may use before somebody is asked whether it may go on. */
import type { Checkpoint } from './checkpoint.js'
import type { AgentLimits } from './agent-port.js'
import type { RequestSpec } from './requests.js'
import { NO_USAGE, type TokenUsage } from './usage.js'

export interface SpentBudget {
  /** For people, e.g. `output tokens`. */
  readonly name: string
  readonly limit: number
  /** Since it began. */
  readonly used: number
}

/** The first budget that is used up, of those that the agent has; counted from where somebody let it go on. */
export function overBudget({ usage, allowedFrom = NO_USAGE }: Checkpoint, limits: AgentLimits): SpentBudget | null {
  const spent = (name: string, limit: number | null, of: (usage: TokenUsage) => number | null): SpentBudget | null => {
    const used = (of(usage) ?? 0) - (of(allowedFrom) ?? 0)
    return limit !== null && used >= limit ? { name, limit, used } : null
  }
  return (
    spent('input tokens', limits.maxInputTokensPerSession, ({ promptTokens }) => promptTokens) ??
    spent('output tokens', limits.maxOutputTokensPerSession, ({ completionTokens }) => completionTokens) ??
    spent('US dollars', limits.maxCostUsdPerSession, ({ costUsd }) => costUsd)
  )
}

export function limitPrompt({ name, limit, used }: SpentBudget): RequestSpec {
  return {
    kind: 'LIMIT',
    prompt: `This session has used ${format(used)} of its ${format(limit)} ${name}. Continue with as much again, or stop this turn?`,
    options: [
      { id: 'continue', label: 'Continue', description: `Allows ${format(limit)} ${name} more.` },
      { id: 'stop', label: 'Stop', description: 'Cancels the turn; the session stays open.' },
    ],
    minSelections: 1,
    maxSelections: 1,
    allowsText: false,
    reviewers: [],
    expiresAfterMs: null,
    onExpire: 'DENY',
    grants: false,
    url: null,
  }
}

function format(amount: number): string {
  return String(Math.round(amount * 100) / 100)
}
