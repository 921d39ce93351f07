/**
 * Sessions as a request reads them.
 *
 * S1 The head of a session, with its newest position, is read before the session and before everything else of it: whoever
 *    subscribes after that position misses nothing of what the other fields show.
 */
import type { Prisma, PrismaClient, Session, SessionHead } from '../generated/prisma/client.js'
import { isId } from '../ids.js'
import { visibleTo } from './access.js'
import { createBatch } from './batch.js'
import type { Caller } from './caller.js'
import { toConnection, toPage, type Connection, type PageArguments } from './page.js'

/** A session with the head that was read before it. */
export type SessionRow = Session & { head: SessionHead | null }

export interface SessionFilter {
  readonly agent?: readonly string[] | null | undefined
  readonly status?: readonly Session['status'][] | null | undefined
  readonly createdAfter?: Date | null | undefined
  readonly createdBefore?: Date | null | undefined
  readonly updatedAfter?: Date | null | undefined
  readonly owner?: string | null | undefined
  readonly address?: string | null | undefined
  readonly title?: string | null | undefined
}

export interface Sessions {
  /** Null when the caller may not see it, or there is none. */
  load(id: string): Promise<SessionRow | null>
  /** Whether `load` would find it; one statement. */
  canSee(id: string): Promise<boolean>
  /** One that the caller has just written to, or may answer a request of, whatever else it may see. */
  loadWritten(id: string): Promise<SessionRow>
  /** Those of `ids` that the caller may see and that match. */
  match(ids: readonly string[], filter: SessionFilter): Promise<readonly SessionRow[]>
  /** Newest first. Throws BAD_USER_INPUT. */
  list(args: PageArguments, filter: SessionFilter): Promise<Connection<SessionRow>>
}

/** For one request of one caller. `outlines`: those of which it is shown an outline only. */
export function createSessions(prisma: PrismaClient, caller: Caller, outlines: ReadonlySet<string> = new Set()): Sessions {
  const visible = visibleTo(caller)
  const { tenant } = caller
  const seen = createBatch((ids: readonly string[]) => findByIds(prisma, ids, visible))
  const written = createBatch((ids: readonly string[]) => findByIds(prisma, ids, { tenant }))
  return {
    load: (id) => seen.load(id),
    canSee: async (id) => (await prisma.session.findFirst({ where: { AND: [{ id }, visible] }, select: { id: true } })) !== null,
    async loadWritten(id) {
      const session = await written.load(id)
      if (session === null) throw new Error(`session ${id} was written to and is not there`)
      return outlines.has(id) ? toOutline(session) : session
    },
    match: async (ids, filter) => {
      const found = await findByIds(prisma, ids, { AND: [visible, toWhere(filter, tenant)] })
      return found.filter((session) => session !== null)
    },
    async list(args, filter) {
      const page = toPage(args, (cursor) => (isId('ses', cursor) ? cursor : null))
      const bounds = [
        ...(page.after === null ? [] : [{ sessionId: { lt: page.after } }]),
        ...(page.before === null ? [] : [{ sessionId: { gt: page.before } }]),
      ]
      const rows = await find(prisma, {
        where: { AND: [...bounds, { session: { AND: [visible, toWhere(filter, tenant)] } }] },
        orderBy: { sessionId: page.backward ? 'asc' : 'desc' },
        take: page.limit + 1,
      })
      return toConnection(rows, page, ({ id }) => id)
    },
  }
}

/** Who and what it is, and where it stands: what whoever answers its requests has to know. */
function toOutline(session: SessionRow): SessionRow {
  return { ...session, metadata: {}, usage: {}, error: null, head: null }
}

async function findByIds(
  prisma: PrismaClient,
  ids: readonly string[],
  where: Prisma.SessionWhereInput,
): Promise<readonly (SessionRow | null)[]> {
  const rows = await find(prisma, { where: { sessionId: { in: [...new Set(ids)] }, session: where } })
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => byId.get(id) ?? null)
}

/** Asks for the heads: Prisma reads what is asked for first, what is included after it (S1). */
async function find(
  prisma: PrismaClient,
  query: Pick<Prisma.SessionHeadFindManyArgs, 'where' | 'orderBy' | 'take'>,
): Promise<SessionRow[]> {
  const heads = await prisma.sessionHead.findMany({ ...query, include: { session: true } })
  return heads.map(({ session, ...head }) => ({ ...session, head }))
}

function toWhere(filter: SessionFilter, tenant: string): Prisma.SessionWhereInput {
  const { agent, status, createdAfter, createdBefore, updatedAfter, owner, address, title } = filter
  return {
    ...(agent && { agentName: { in: [...agent] } }),
    ...(status && { status: { in: [...status] } }),
    ...((createdAfter ?? createdBefore) && {
      createdAt: { ...(createdAfter && { gt: createdAfter }), ...(createdBefore && { lt: createdBefore }) },
    }),
    ...(updatedAfter && { updatedAt: { gt: updatedAfter } }),
    ...(typeof owner === 'string' && { ownerId: owner }),
    ...(typeof address === 'string' && { addresses: { some: { tenant, address } } }),
    ...(typeof title === 'string' && { title: { contains: literally(title), mode: 'insensitive' } }),
  }
}

/** Prisma hands what is contained to LIKE as it is. */
function literally(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
