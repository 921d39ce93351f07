/** Who: the person or program behind a request, an owner, the author of a message. Everything is owned by one. */
export const PRINCIPAL_KINDS = ['USER', 'SERVICE', 'SYSTEM', 'ANONYMOUS'] as const
export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number]

/** What is stored with a session, a delivery and a turn. */
export interface Principal {
  readonly tenant: string
  readonly id: string
  readonly kind: PrincipalKind
  readonly name?: string
}

export function isSamePrincipal(one: Principal, other: Principal): boolean {
  return one.tenant === other.tenant && one.id === other.id && one.kind === other.kind
}
