/** Asks again, every minute, whether a subscription may go on: credentials expire, and rights are taken back. */
import type { GraphQLError } from 'graphql'
import type { Caller } from './caller.js'
import type { GraphqlServices } from './context.js'
import { unauthenticated } from './errors.js'
import { REAUTHENTICATE_MS } from './limits.js'

export interface AccessWatch<Reason> {
  /** Aborts when the reader leaves, or may not go on. */
  readonly signal: AbortSignal
  /** Why it may not go on; null while it may. */
  reason(): Reason | GraphQLError | null
  stop(): void
}

interface AccessContext {
  readonly services: Pick<GraphqlServices, 'clock' | 'log'>
  reauthenticate(): Promise<Caller | null>
}

/** `check` answers why this caller may not go on, or null. When asking fails it goes on, and is asked again a minute later. */
export function watchAccess<Reason>(
  context: AccessContext,
  left: AbortSignal,
  check: (caller: Caller) => Promise<Reason | null>,
): AccessWatch<Reason> {
  const { clock, log } = context.services
  const refused = new AbortController()
  let reason: Reason | GraphQLError | null = null
  let isStopped = false
  let cancel = clock.after(REAUTHENTICATE_MS, () => void look())

  async function look(): Promise<void> {
    try {
      const caller = await context.reauthenticate()
      reason = caller === null ? unauthenticated() : await check(caller)
    } catch (err) {
      log.warn('whether a subscription may go on could not be found out; it is asked again', { err })
    }
    if (reason !== null) refused.abort()
    else if (!isStopped) cancel = clock.after(REAUTHENTICATE_MS, () => void look())
  }

  return {
    signal: AbortSignal.any([left, refused.signal]),
    reason: () => reason,
    stop: () => {
      isStopped = true
      cancel()
    },
  }
}
