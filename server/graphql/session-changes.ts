/** The subscription to what a list of sessions shows. */
import type { GraphQLError } from 'graphql'
import type { SessionId } from '../ids.js'
import { watchAccess } from './access-watch.js'
import { createChangeQueue } from './change-queue.js'
import type { GraphqlContext } from './context.js'
import { CHANGE_BATCH, CHANGE_INTERVAL_MS, MAX_UNMATCHED } from './limits.js'
import { createSessions, type SessionFilter, type SessionRow, type Sessions } from './sessions.js'
import { abortable } from './stream.js'

export interface SessionChange {
  readonly session: SessionRow
  readonly matches: boolean
}

/** An error among the items is the last one, and becomes a top-level error. */
export function followChanges(filter: SessionFilter, context: GraphqlContext): AsyncIterableIterator<SessionChange | GraphQLError> {
  return abortable((left) => changes(filter, context, left))
}

async function* changes(
  filter: SessionFilter,
  context: GraphqlContext,
  left: AbortSignal,
): AsyncGenerator<SessionChange | GraphQLError, void> {
  const { coordinator, clock, prisma } = context.services
  let { sessions } = context
  const queue = createChangeQueue<SessionId>(clock, CHANGE_INTERVAL_MS)
  const unmatched = new Set<string>()
  const unsubscribe = coordinator.onAnnounce((sessionId) => {
    queue.mark(sessionId)
  })
  const watch = watchAccess(context, left, (caller) => {
    sessions = createSessions(prisma, caller)
    return Promise.resolve(null)
  })
  try {
    while (!watch.signal.aborted) {
      const ids = await queue.take(CHANGE_BATCH, watch.signal)
      if (ids.length > 0) yield* news(await readChanges(ids, filter, sessions), unmatched)
    }
    const reason = watch.reason()
    if (reason !== null && !left.aborted) yield reason
  } finally {
    unsubscribe()
    watch.stop()
  }
}

async function readChanges(ids: readonly SessionId[], filter: SessionFilter, sessions: Sessions): Promise<readonly SessionChange[]> {
  const seen = await sessions.match(ids, {})
  const matching = new Set((await sessions.match(ids, filter)).map(({ id }) => id))
  return seen.map((session) => ({ session, matches: matching.has(session.id) }))
}

/** Whoever has heard that a session does not match need not hear it again. `unmatched` remembers so many; the oldest are forgotten. */
function* news(read: readonly SessionChange[], unmatched: Set<string>): Generator<SessionChange, void> {
  for (const change of read) {
    const { id } = change.session
    if (change.matches) unmatched.delete(id)
    else if (unmatched.has(id)) continue
    else unmatched.add(id)
    yield change
  }
  for (const id of unmatched) {
    if (unmatched.size <= MAX_UNMATCHED) break
    unmatched.delete(id)
  }
}
