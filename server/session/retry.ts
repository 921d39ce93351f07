/** Retry policy, as data: how often what failed is tried again, and when. */
export interface BackOff {
  readonly baseDelayMs: number
  readonly maxDelayMs: number
}
export interface RetryPolicy extends BackOff {
  /** Calls of the model in one step, the first one included. */
  readonly maxAttempts: number
  /** A longer wait parks the turn on a timer and frees the slot. */
  readonly parkAboveMs: number
}

export const MODEL_RETRY: RetryPolicy = { maxAttempts: 3, baseDelayMs: 500, maxDelayMs: 30_000, parkAboveMs: 10_000 }
/** Takeovers after which a turn that loses its workers again and again fails: the fourth is one too many. */
export const MAX_TAKEOVERS = 3
/** Claims without a commit after which what a session is at is given up: the sixth is one too many (settle/stall.ts). */
export const MAX_CLAIMS = 5
/** How long a session is left alone after such a claim. */
export const CLAIM_PAUSE: BackOff = { baseDelayMs: 5000, maxDelayMs: 60_000 }
/** A provider may ask for longer than we would wait by ourselves, within reason. */
const MAX_RETRY_AFTER_MS = 10 * 60_000

/**
 * Exponential back-off, half of it jitter; what the provider asked for (`Retry-After`) wins.
 * `failures` counts from 1, `random` is in [0, 1).
 */
export function retryDelayMs(policy: BackOff, failures: number, retryAfterMs: number | null, random: number): number {
  if (retryAfterMs !== null) return Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)
  const ceiling = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (failures - 1))
  return Math.round(ceiling * (0.5 + random / 2))
}
