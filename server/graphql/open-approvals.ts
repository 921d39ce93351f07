/** Which approvals are open, for subscribers of events: read at once for all who ask at once, whoever they are. */
import type { Clock } from '../clock.js'
import type { PrismaClient } from '../generated/prisma/client.js'
import { createBatch, type Batch } from './batch.js'
import { withStatus } from './request-status.js'

/** Ids, by session, in the order they were asked for. It is for the caller to say who may see the session. */
export type OpenApprovals = Batch<string, readonly string[]>

/** For all requests of this process. */
export function createOpenApprovals({ prisma, clock }: { readonly prisma: PrismaClient; readonly clock: Clock }): OpenApprovals {
  return createBatch(async (sessionIds: readonly string[]) => {
    const rows = await prisma.request.findMany({
      where: { AND: [{ sessionId: { in: [...new Set(sessionIds)] }, kind: 'APPROVAL' }, withStatus(['PENDING'], clock.now())] },
      orderBy: { id: 'asc' },
      select: { id: true, sessionId: true },
    })
    const bySession = new Map<string, string[]>(sessionIds.map((sessionId) => [sessionId, []]))
    for (const { id, sessionId } of rows) bySession.get(sessionId)?.push(id)
    return sessionIds.map((sessionId) => bySession.get(sessionId) ?? [])
  })
}
