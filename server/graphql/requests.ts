/** What sessions ask of people, as a request of the API reads it. */
import type { Clock } from '../clock.js'
import type { Prisma, PrismaClient, Request as RequestRow } from '../generated/prisma/client.js'
import { isId } from '../ids.js'
import { visibleTo } from './access.js'
import type { Caller } from './caller.js'
import { toConnection, toPage, type Connection, type PageArguments } from './page.js'
import { answerableTo } from './request-access.js'
import { withStatus, type RequestStatus } from './request-status.js'

export interface RequestFilter {
  /** Null: whatever their status. */
  readonly status?: readonly RequestStatus[] | null | undefined
  readonly kind?: readonly RequestRow['kind'][] | null | undefined
  readonly agent?: readonly string[] | null | undefined
}

export interface Requests {
  /** Those of `ids` that the caller may answer, or whose session it may see. */
  match(ids: readonly string[]): Promise<readonly RequestRow[]>
  /** What the caller may answer, newest first. Throws BAD_USER_INPUT. */
  list(args: PageArguments, filter: RequestFilter): Promise<Connection<RequestRow>>
}

interface RequestServices {
  readonly prisma: PrismaClient
  readonly clock: Clock
}

/** For one request of one caller. */
export function createRequests({ prisma, clock }: RequestServices, caller: Caller): Requests {
  const answerable = answerableTo(caller)
  return {
    match: (ids) => prisma.request.findMany({ where: { id: { in: [...ids] }, OR: [answerable, { session: visibleTo(caller) }] } }),
    async list(args, filter) {
      const page = toPage(args, (cursor) => (isId('req', cursor) ? cursor : null))
      const bounds = [
        ...(page.after === null ? [] : [{ id: { lt: page.after } }]),
        ...(page.before === null ? [] : [{ id: { gt: page.before } }]),
      ]
      const rows = await prisma.request.findMany({
        where: { AND: [...bounds, answerable, toWhere(filter, clock.now())] },
        orderBy: { id: page.backward ? 'asc' : 'desc' },
        take: page.limit + 1,
      })
      return toConnection(rows, page, ({ id }) => id)
    },
  }
}

export function toWhere({ status, kind, agent }: RequestFilter, now: number): Prisma.RequestWhereInput {
  return {
    ...(status && { AND: [withStatus(status, now)] }),
    ...(kind && { kind: { in: [...kind] } }),
    ...(agent && { agentName: { in: [...agent] } }),
  }
}
