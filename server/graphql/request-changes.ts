/** The subscription to the reviewer's queue. */
import type { GraphQLError } from 'graphql'
import type { Prisma, Request as RequestRow } from '../generated/prisma/client.js'
import type { SessionId } from '../ids.js'
import { watchAccess } from './access-watch.js'
import type { Caller } from './caller.js'
import { createChangeQueue } from './change-queue.js'
import type { GraphqlContext, GraphqlServices } from './context.js'
import { ANNOUNCE_SLACK_MS, CHANGE_BATCH, CHANGE_INTERVAL_MS, MAX_TOLD } from './limits.js'
import { answerableTo } from './request-access.js'
import { statusAt, type RequestStatus } from './request-status.js'
import { toWhere, type RequestFilter } from './requests.js'
import { abortable } from './stream.js'

export interface RequestChangesFilter extends Pick<RequestFilter, 'kind' | 'agent'> {
  /** Null: whatever the session. */
  readonly sessionId?: string | null | undefined
}

/** An error among the items is the last one, and becomes a top-level error. */
export function followRequests(filter: RequestChangesFilter, context: GraphqlContext): AsyncIterableIterator<RequestRow | GraphQLError> {
  return abortable((left) => changes(filter, context, left))
}

async function* changes(
  filter: RequestChangesFilter,
  context: GraphqlContext,
  left: AbortSignal,
): AsyncGenerator<RequestRow | GraphQLError, void> {
  const { coordinator, clock } = context.services
  let { caller } = context
  const queue = createChangeQueue<SessionId>(clock, CHANGE_INTERVAL_MS)
  const marked = createMarks(clock)
  const told = new Map<string, RequestStatus>()
  const unsubscribe = coordinator.onAnnounce((sessionId) => {
    if (typeof filter.sessionId === 'string' && filter.sessionId !== sessionId) return
    marked.mark(sessionId)
    queue.mark(sessionId)
  })
  const watch = watchAccess(context, left, (known) => {
    caller = known
    return Promise.resolve(null)
  })
  try {
    while (!watch.signal.aborted) {
      const ids = await queue.take(CHANGE_BATCH, watch.signal)
      if (ids.length === 0) continue
      const since = marked.take(ids) - ANNOUNCE_SLACK_MS
      yield* news(await readRequests(context.services, caller, { ...filter, ids, since }), told, clock.now())
    }
    const reason = watch.reason()
    if (reason !== null && !left.aborted) yield reason
  } finally {
    unsubscribe()
    watch.stop()
  }
}

interface Marks {
  mark(id: SessionId): void
  /** When the first of them was marked since it was last taken. */
  take(ids: readonly SessionId[]): number
}

/** Since when there may be news of a session: how far back it has to be read. */
function createMarks(clock: Pick<GraphqlServices['clock'], 'now'>): Marks {
  const since = new Map<SessionId, number>()
  return {
    mark(id) {
      if (!since.has(id)) since.set(id, clock.now())
    },
    take(ids) {
      const first = Math.min(clock.now(), ...ids.map((id) => since.get(id) ?? Infinity))
      for (const id of ids) since.delete(id)
      return first
    },
  }
}

/** What is open, and what was settled since. */
function readRequests(
  { prisma, clock }: GraphqlServices,
  caller: Caller,
  { ids, since, ...filter }: RequestChangesFilter & { readonly ids: readonly SessionId[]; readonly since: number },
): Promise<RequestRow[]> {
  const recent: Prisma.RequestWhereInput = { OR: [{ status: 'PENDING' }, { settledAt: { gte: new Date(since) } }] }
  return prisma.request.findMany({
    where: { AND: [{ sessionId: { in: [...ids] } }, recent, answerableTo(caller), toWhere(filter, clock.now())] },
    orderBy: { id: 'asc' },
  })
}

/** Those of which this subscriber was last told that they stand elsewhere. `told` remembers so many; the oldest are forgotten. */
function* news(read: readonly RequestRow[], told: Map<string, RequestStatus>, now: number): Generator<RequestRow, void> {
  for (const request of read) {
    const status = statusAt(request, now)
    const known = told.get(request.id)
    told.delete(request.id)
    told.set(request.id, status)
    if (known !== status) yield request
  }
  for (const id of told.keys()) {
    if (told.size <= MAX_TOLD) break
    told.delete(id)
  }
}
