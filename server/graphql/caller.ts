/** Who asks, what they may, and how an application tells. */
import type { Principal } from '../session/principal.js'

/** What a principal may do beyond what it owns. `admin` includes every other. */
export const SCOPES = [
  'sessions:read',
  'sessions:read-all',
  'sessions:write',
  'sessions:act-as',
  'requests:answer',
  'webhooks:manage',
  'admin',
] as const
export type Scope = (typeof SCOPES)[number]

/** Who asks, and what it may. */
export type Caller = Principal & {
  readonly scopes: readonly Scope[]
  /** In the application's own words, e.g. `manager`: what approval rules name as `role:manager`. Default: none. */
  readonly roles?: readonly string[]
}

/** Says who sends a request; null refuses it with UNAUTHENTICATED. Asked again every minute while a subscription lasts. */
export type Authenticate = (request: Request) => Caller | null | Promise<Caller | null>
