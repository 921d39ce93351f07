/**
 * How a mutation hands something to a session: who may, through the intake, and what came of it as a result of the schema.
 */
import { assertNever } from '../errors.js'
import type { Delivery } from '../generated/prisma/client.js'
import type { SessionId } from '../ids.js'
import { storedId } from '../ids.js'
import type { DeliveryContent } from '../session/deliveries.js'
import type { IntakeOutcome, SendTarget, SessionSpec } from '../session/intake.js'
import type { Principal } from '../session/principal.js'
import { hasScope, toPrincipal } from './access.js'
import type { GraphqlContext } from './context.js'
import { toDeliveryRow } from './delivered.js'
import * as problems from './problems.js'

/** What a caller named, before it is known whether he may. */
export type Target =
  | { readonly kind: 'session'; readonly id: string }
  | { readonly kind: 'create'; readonly spec: SessionSpec }
  | { readonly kind: 'address'; readonly address: string; readonly create: SessionSpec | null }

/** What is handed over. */
export interface Handing {
  readonly target: Target
  readonly content: DeliveryContent
  readonly key: string | null
  /** Whose words they are, when they are not the caller's. */
  readonly author?: Principal | undefined
}

export type Accepted = Extract<IntakeOutcome, { readonly kind: 'accepted' }>
type Ended = Extract<IntakeOutcome, { readonly kind: 'ended' }>
type NotPending = Extract<IntakeOutcome, { readonly kind: 'not-pending' }>
export type Refused = problems.NotFound | problems.Forbidden | problems.LimitExceeded | problems.IdempotencyMismatch | problems.AddressTaken

/** Milliseconds after which whoever lost a race may try again. */
const BUSY_RETRY_MS = 50

/** Why the caller may not write at all; null: it may. */
export function checkWrite({ caller }: GraphqlContext): problems.Forbidden | null {
  return hasScope(caller, 'sessions:write') ? null : problems.forbidden('sessions:write')
}

/** Why a session cannot be created; null: it can. */
export function checkAgent(spec: SessionSpec | null, { services }: GraphqlContext): problems.NotFound | null {
  if (spec === null || services.agents.names.includes(spec.agent)) return null
  return problems.noAgent(spec.agent, services.agents.names)
}

/** Delivers once per key. A session that the caller may not see is not found, also behind an address. */
export async function deliver(context: GraphqlContext, handing: Handing): Promise<Accepted | Ended | Refused> {
  const { target } = handing
  const { sessions } = context
  if (target.kind === 'session' && !(await sessions.canSee(target.id))) return problems.noSession(target.id)
  const outcome = await handIn(context, handing, (holder) => sessions.canSee(holder))
  if ('kind' in outcome && outcome.kind === 'not-pending') throw new Error(`${handing.content.kind} was refused as an answer`)
  return outcome
}

/** The same, whoever may see the session; behind an address one that `mayReach` says no of is not found. */
export async function handIn(
  context: GraphqlContext,
  { target, content, key, author }: Handing,
  mayReach: (holder: SessionId) => Promise<boolean>,
): Promise<Accepted | Ended | NotPending | Refused> {
  const { services, caller } = context
  const by = author === undefined ? toPrincipal(caller) : { relay: toPrincipal(caller), author }
  const outcome = await services.intake.deliver(by, toSendTarget(target, mayReach), content, key)
  return isRefusal(outcome) ? toProblem(outcome, target, context) : outcome
}

/** Creates a session once per key. */
export async function create(context: GraphqlContext, spec: SessionSpec, key: string | null): Promise<Accepted | Refused> {
  const outcome = await context.services.intake.create(toPrincipal(context.caller), spec, key)
  if (outcome.kind === 'ended' || outcome.kind === 'not-pending') throw new Error(`creating a session answered ${outcome.kind}`)
  return isRefusal(outcome) ? toProblem(outcome, { kind: 'create', spec }, context) : outcome
}

function toSendTarget(target: Target, mayReach: (holder: SessionId) => Promise<boolean>): SendTarget {
  switch (target.kind) {
    case 'session':
      return { kind: 'session', sessionId: storedId('ses', target.id) }
    case 'create':
      return target
    case 'address':
      return { ...target, mayReach }
    default:
      return assertNever(target)
  }
}

type Refusal = Exclude<IntakeOutcome, Accepted | Ended | NotPending>

function isRefusal(outcome: IntakeOutcome): outcome is Refusal {
  return outcome.kind !== 'accepted' && outcome.kind !== 'ended' && outcome.kind !== 'not-pending'
}

async function toProblem(outcome: Refusal, target: Target, { sessions }: GraphqlContext): Promise<Refused> {
  switch (outcome.kind) {
    case 'mismatch':
      return problems.idempotencyMismatch()
    case 'not-found':
      return toAbsence(target)
    case 'address-taken':
      return problems.addressTaken(outcome.address, (await sessions.load(outcome.holder))?.id ?? null)
    case 'busy':
      return problems.limitExceeded('Too many callers use this address at once; try again.', 'callers of one address', BUSY_RETRY_MS)
    default:
      return assertNever(outcome)
  }
}

/** An address that is not free, and yet nobody within reach holds it, cannot be had: that cannot be kept from who wants to claim it. */
function toAbsence(target: Target): problems.NotFound | problems.AddressTaken {
  switch (target.kind) {
    case 'address':
      return target.create === null ? problems.noHolder(target.address) : problems.addressTaken(target.address, null)
    case 'session':
      return problems.noSession(target.id)
    case 'create':
      throw new Error(`creating a session for ${target.spec.agent} answered that there is none`)
    default:
      return assertNever(target)
  }
}

export interface Delivered {
  readonly sessionId: string
  readonly deliveryId: string
  /** Null: it is read. */
  readonly delivery: Delivery | null
  readonly duplicate: boolean
}

export type HandedOver = Refused | problems.SessionEnded | ({ readonly __typename: 'DeliveryPayload' } & Delivered)

/** Delivers a control, such as a cancel. */
export async function handOver(
  context: GraphqlContext,
  target: Target,
  content: DeliveryContent,
  key: string | null,
): Promise<Exclude<HandedOver, problems.AddressTaken>> {
  const outcome = await deliver(context, { target, content, key })
  if (!('kind' in outcome)) return notTaken(outcome)
  if (outcome.kind === 'ended') return problems.sessionEnded(outcome.sessionId)
  return { __typename: 'DeliveryPayload', ...toDelivered(outcome) }
}

export function toDelivered({ sessionId, deliveryId, delivery, duplicate }: Accepted): Delivered {
  if (deliveryId === null) throw new Error(`what was delivered to ${sessionId} has no delivery`)
  return { sessionId, deliveryId, delivery: delivery === null ? null : toDeliveryRow(sessionId, delivery), duplicate }
}

/** Addresses are claimed only with a new session. */
export function notTaken(problem: Refused): Exclude<Refused, problems.AddressTaken> {
  if (problem.__typename === 'AddressTakenError') throw new Error(`a delivery to an open session claimed ${problem.address}`)
  return problem
}
