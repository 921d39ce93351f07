/** For whom a caller speaks: itself, or, with the scope for it, one of the many people behind it. */
import { hasScope } from './access.js'
import type { GraphqlContext } from './context.js'
import { forbidden, type Forbidden } from './problems.js'
import { speakerOf, type Speaker } from './request-access.js'
import type { Principal } from '../session/principal.js'

export interface ActorGiven {
  readonly id: string
  readonly name?: string | null | undefined
  readonly kind: Principal['kind']
}

/** Why the caller may not speak for him; null: it may, or speaks for itself. */
export function checkActor({ caller }: GraphqlContext, actor: ActorGiven | null | undefined): Forbidden | null {
  return !actor || hasScope(caller, 'sessions:act-as') ? null : forbidden('sessions:act-as')
}

/** Whose words they are. An actor has no roles and scopes: the caller's are not his. */
export function speakerFor({ caller }: GraphqlContext, actor: ActorGiven | null | undefined): Speaker {
  if (!actor) return speakerOf(caller)
  const { id, kind, name } = actor
  return { principal: { tenant: caller.tenant, id, kind, ...(name && { name }) }, authority: [] }
}
