/**
 * Who may see and do what. A session that a caller may not see does not exist for it: null or NotFoundError, never a hint.
 */
import type { Prisma } from '../generated/prisma/client.js'
import type { Principal } from '../session/principal.js'
import { SCOPES, type Caller, type Scope } from './caller.js'
import { isLoopback } from './loopback.js'

/** True when the caller has the scope, or is an admin. */
export function hasScope(caller: Caller, scope: Scope): boolean {
  return caller.scopes.includes(scope) || caller.scopes.includes('admin')
}

/**
 * The sessions that a caller may see: its own, those that accepted a delivery of it, and with `sessions:read-all` those of
 * its whole tenant. Without a scope to read: none. To have answered what a session asked opens it to nobody: a reviewer sees the
 * request only.
 */
export function visibleTo(caller: Caller): Prisma.SessionWhereInput {
  const { tenant, id, kind } = caller
  if (hasScope(caller, 'sessions:read-all')) return { tenant }
  if (!hasScope(caller, 'sessions:read')) return { id: { in: [] } }
  const delivered = { byId: id, byKind: kind, kind: { not: 'ANSWERS' } } as const
  return { tenant, OR: [{ ownerId: id, ownerKind: kind }, { deliveries: { some: delivered } }] }
}

/** The caller as it is stored: without its scopes and roles. */
export function toPrincipal({ tenant, id, kind, name }: Caller): Principal {
  return name === undefined ? { tenant, id, kind } : { tenant, id, kind, name }
}

/** What a caller may answer requests by, beside its name: its roles and scopes. An admin has every scope. */
export function authorityWords({ roles = [], scopes }: Caller): readonly string[] {
  const held = scopes.includes('admin') ? SCOPES : scopes
  return [...roles.map((role) => `role:${role}`), ...held.map((scope) => `scope:${scope}`)]
}

/**
 * Who a request on the developer's own machine comes from: the header `x-perdure-principal: id[;role=…]`, or `developer`. Roles that are
 * named like scopes leave it these scopes only, so that a page can be seen through the eyes of somebody who may less; without one it may do
 * everything. Any other is a role of the caller's. Null for a request to another name than this machine's own: a foreign page that had its
 * name point here.
 */
export function developmentPrincipal(request: Request): Caller | null {
  if (!isLoopback(new URL(request.url).hostname)) return null
  const [id = '', ...parameters] = (request.headers.get('x-perdure-principal') ?? '').split(';').map((part) => part.trim())
  const named = parameters.flatMap((parameter) => (parameter.startsWith('role=') ? [parameter.slice('role='.length).trim()] : []))
  const some = SCOPES.filter((scope) => named.includes(scope))
  const roles = named.filter((name) => name !== '' && !SCOPES.some((scope) => scope === name))
  const who = { tenant: 'default', id: id === '' ? 'developer' : id, kind: 'USER', scopes: some.length === 0 ? SCOPES : some } as const
  return roles.length === 0 ? who : { ...who, roles }
}
