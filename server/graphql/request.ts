/** The context of one request: the services, who asks, and batches that read for this caller only. */
import { createBatch, type Batch } from './batch.js'
import { createChildren } from './children.js'
import type { Caller } from './caller.js'
import type { GraphqlContext, GraphqlServices } from './context.js'
import { createOpenTurns } from './open-turns.js'
import { createSessions } from './sessions.js'

export function createContext(services: GraphqlServices, caller: Caller, reauthenticate: () => Promise<Caller | null>): GraphqlContext {
  const { prisma, clock } = services
  return {
    services,
    caller,
    reauthenticate,
    sessions: createSessions(prisma, caller),
    children: createChildren(prisma),
    turns: byId((ids) => prisma.turn.findMany({ where: { id: { in: ids } } })),
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
