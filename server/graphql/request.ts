/** The context of one request: the services, who asks, and batches that read for this caller only. */
import { createBatch, type Batch } from './batch.js'
import { createChildren } from './children.js'
import type { Caller } from './caller.js'
import type { GraphqlContext, GraphqlServices } from './context.js'
import type { OpenApprovals } from './open-approvals.js'
import { createOpenTurns } from './open-turns.js'
import { createRequests } from './requests.js'
import { createSessions } from './sessions.js'

/** What a request brings, and what all requests share. */
interface Opened {
  readonly caller: Caller
  readonly openApprovals: OpenApprovals
  readonly reauthenticate: () => Promise<Caller | null>
}

export function createContext(services: GraphqlServices, { caller, openApprovals, reauthenticate }: Opened): GraphqlContext {
  const { prisma, clock } = services
  const outlines = new Set<string>()
  return {
    services,
    caller,
    reauthenticate,
    openApprovals,
    outlines,
    following: { sessionId: null },
    sessions: createSessions(prisma, caller, outlines),
    children: createChildren(prisma, outlines),
    requests: createRequests(services, caller),
    turns: byId((ids) => prisma.turn.findMany({ where: { id: { in: ids } } })),
    calls: byId((ids) => prisma.toolCall.findMany({ where: { id: { in: ids } } })),
    deliveries: byId((ids) => prisma.delivery.findMany({ where: { id: { in: ids } } })),
    openTurns: createOpenTurns(prisma, clock),
    states: createBatch(async (ids: readonly string[]) => {
      const rows = await prisma.checkpoint.findMany({
        where: { sessionId: { in: [...new Set(ids)] } },
        select: { sessionId: true, state: true },
      })
      const states = new Map(rows.map(({ sessionId, state }) => [sessionId, state]))
      return ids.map((id) => states.get(id))
    }),
  }
}

function byId<Row extends { readonly id: string }>(read: (ids: string[]) => Promise<Row[]>): Batch<string, Row> {
  return createBatch(async (ids) => {
    const rows = new Map((await read([...new Set(ids)])).map((row) => [row.id, row]))
    return ids.map((id) => {
      const row = rows.get(id)
      if (row === undefined) throw new Error(`${id} is named by another row and is not there`)
      return row
    })
  })
}
