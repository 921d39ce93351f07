/**
 * Where a request stands for whoever looks at it. Its row says PENDING until a worker has acted on the answer, or on the expiry; nobody
 * can answer it any more from the moment that an answer was accepted, or that it was too late.
 */
import { Prisma, type Request } from '../generated/prisma/client.js'

export type RequestStatus = Request['status']
type Standing = Pick<Request, 'status' | 'reservedBy' | 'expiresAt'>

export function statusAt({ status, reservedBy, expiresAt }: Standing, now: number): RequestStatus {
  if (status !== 'PENDING') return status
  if (reservedBy !== null) return 'ANSWERED'
  return expiresAt !== null && expiresAt.getTime() <= now ? 'EXPIRED' : 'PENDING'
}

/** The same as a condition of Prisma. */
export function withStatus(statuses: readonly RequestStatus[], now: number): Prisma.RequestWhereInput {
  const at = new Date(now)
  // That it is not settled says the same once more: as a parameter the status is no reason for PostgreSQL to take the index of what is open.
  const conditions: Readonly<Record<RequestStatus, Prisma.RequestWhereInput>> = {
    PENDING: { status: 'PENDING', settledAt: null, reservedBy: null, OR: [{ expiresAt: null }, { expiresAt: { gt: at } }] },
    ANSWERED: { OR: [{ status: 'ANSWERED' }, { status: 'PENDING', reservedBy: { not: null } }] },
    EXPIRED: { OR: [{ status: 'EXPIRED' }, { status: 'PENDING', reservedBy: null, expiresAt: { lte: at } }] },
    CANCELLED: { status: 'CANCELLED' },
  }
  const [first, ...more] = [...new Set(statuses)].map((status) => conditions[status])
  if (first === undefined) return { id: { in: [] } }
  return more.length === 0 ? first : { OR: [first, ...more] }
}

/** The same as SQL, on `child`. */
export function withStatusSql(statuses: readonly RequestStatus[], now: number): Prisma.Sql {
  return Prisma.sql`CASE WHEN child.status <> 'PENDING' THEN child.status::text WHEN child.reserved_by IS NOT NULL THEN 'ANSWERED'
    WHEN child.expires_at <= ${new Date(now)}::timestamptz THEN 'EXPIRED' ELSE 'PENDING' END = ANY (${[...statuses]}::text[])`
}
