/** What an agent may use, as its author sets it. */
import type { AgentLimits } from '../session/agent-port.js'
import { isRecord, refuseUnknownOptions } from './loose-options.js'

export const DEFAULT_LIMITS: AgentLimits = {
  maxIterationsPerTurn: 200,
  turnTimeoutMs: 30 * 60_000,
  cancelGraceMs: 10_000,
  sessionTimeoutMs: 30 * 24 * 3600_000,
  maxInputTokensPerSession: null,
  maxOutputTokensPerSession: null,
  maxCostUsdPerSession: null,
}

type Refuse = (problem: string) => never

/** Says through `refuse` which is wrong. */
export function readLimits(given: Partial<AgentLimits>, refuse: Refuse): AgentLimits {
  if (!isRecord(given)) refuse('limits must be an object, e.g. limits: { maxIterationsPerTurn: 20 }')
  refuseUnknownOptions(given, Object.keys(DEFAULT_LIMITS), (problem) => refuse(`limits: ${problem}`))
  return {
    maxIterationsPerTurn: readNumber(given, 'maxIterationsPerTurn', 1, refuse),
    turnTimeoutMs: readNumber(given, 'turnTimeoutMs', 1, refuse),
    cancelGraceMs: readNumber(given, 'cancelGraceMs', 0, refuse),
    sessionTimeoutMs: readOptional(given, 'sessionTimeoutMs', refuse),
    maxInputTokensPerSession: readOptional(given, 'maxInputTokensPerSession', refuse),
    maxOutputTokensPerSession: readOptional(given, 'maxOutputTokensPerSession', refuse),
    maxCostUsdPerSession: readBudget(given.maxCostUsdPerSession, refuse),
  }
}

function readNumber(
  given: Partial<AgentLimits>,
  key: 'maxIterationsPerTurn' | 'turnTimeoutMs' | 'cancelGraceMs',
  least: number,
  refuse: Refuse,
): number {
  const value = given[key] ?? DEFAULT_LIMITS[key]
  if (Number.isSafeInteger(value) && value >= least) return value
  return refuse(`limits.${key} must be a whole number of at least ${String(least)}, not ${String(value)}`)
}

/** Null: without limit. */
function readOptional(
  given: Partial<AgentLimits>,
  key: 'sessionTimeoutMs' | 'maxInputTokensPerSession' | 'maxOutputTokensPerSession',
  refuse: Refuse,
): number | null {
  const value = given[key] === undefined ? DEFAULT_LIMITS[key] : given[key]
  if (value === null || (Number.isSafeInteger(value) && value >= 1)) return value
  return refuse(`limits.${key} must be a whole number of at least 1, or null for never, not ${String(value)}`)
}

function readBudget(value: number | null | undefined, refuse: Refuse): number | null {
  if (value === undefined || value === null) return null
  if (Number.isFinite(value) && value > 0) return value
  return refuse(`limits.maxCostUsdPerSession must be a number over 0, or null for no limit, not ${String(value)}`)
}
