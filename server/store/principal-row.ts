import type { Principal, PrincipalKind } from '../session/principal.js'

/** A principal from the columns that hold it; the tenant is the session's. */
export function toPrincipal(
  tenant: string,
  columns: { readonly id: string; readonly kind: PrincipalKind; readonly name: string | null },
): Principal {
  const principal = { tenant, id: columns.id, kind: columns.kind }
  return columns.name === null ? principal : { ...principal, name: columns.name }
}
