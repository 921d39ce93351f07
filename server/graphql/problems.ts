/** Expected failures of a mutation or a subscription, as values. Each becomes a type of the schema that implements `Problem`. */
import type { ProblemCode } from '../errors.js'
import type { Request as RequestRow } from '../generated/prisma/client.js'
import { closestName } from '../session/closest-name.js'

interface Base<Type extends string> {
  readonly __typename: Type
  readonly message: string
}
export interface InputIssue {
  readonly path: readonly string[]
  readonly message: string
}
export type NotFound = Base<'NotFoundError'> & { readonly id: string | null }
export type Forbidden = Base<'ForbiddenError'>
export type InvalidInput = Base<'InvalidInputError'> & { readonly issues: readonly InputIssue[] }
export type SessionEnded = Base<'SessionEndedError'> & { readonly sessionId: string }
export type AddressTaken = Base<'AddressTakenError'> & { readonly address: string; readonly holder: string | null }
export type IdempotencyMismatch = Base<'IdempotencyMismatchError'>
export type LimitExceeded = Base<'LimitExceededError'> & { readonly limit: string; readonly retryAfterMs: number | null }
export type RequestNotPending = Base<'RequestNotPendingError'> & { readonly requests: readonly RequestRow[] }
export type ProblemValue =
  NotFound | Forbidden | InvalidInput | SessionEnded | AddressTaken | RequestNotPending | IdempotencyMismatch | LimitExceeded

export function notFound(message: string, id: string | null): NotFound {
  return { __typename: 'NotFoundError', message, id }
}

/** Also when the session exists and the caller may not see it: that is not told. */
export function noSession(id: string): NotFound {
  return notFound(`No session ${id} that you may see.`, id)
}

export function noHolder(address: string): NotFound {
  return notFound(`No open session that you may see holds the address "${address}"; a send with \`create\` begins one.`, null)
}

export function noAgent(name: string, names: readonly string[]): NotFound {
  const closest = closestName(name, names)
  const hint = closest === null ? '' : ` Did you mean "${closest}"?`
  return notFound(`No agent "${name}".${hint} Agents here: ${names.length === 0 ? 'none' : [...names].sort().join(', ')}.`, null)
}

export function forbidden(scope: string): Forbidden {
  return { __typename: 'ForbiddenError', message: `This takes the scope ${scope}, which your credentials do not have.` }
}

export function invalidInput(issues: readonly InputIssue[]): InvalidInput {
  const message = issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ')
  return { __typename: 'InvalidInputError', message, issues }
}

export function sessionEnded(sessionId: string): SessionEnded {
  return {
    __typename: 'SessionEndedError',
    message: `Session ${sessionId} has ended; create a new one, or send to its address with \`create\`.`,
    sessionId,
  }
}

/** `holder`: null when the caller may not see who it is. */
export function addressTaken(address: string, holder: string | null): AddressTaken {
  const message =
    holder === null
      ? `An open session that you may not see holds the address "${address}"; choose another.`
      : `Session ${holder} holds the address "${address}"; send to the address instead, or end that session first.`
  return { __typename: 'AddressTakenError', message, address, holder }
}

/** Also when it is a request of another session, or one that the caller may neither see nor answer: that is not told. */
export function noRequest(id: string): NotFound {
  return notFound(`No request ${id} of this session that you may see.`, id)
}

export function notForYou(id: string, reviewers: string): Forbidden {
  return { __typename: 'ForbiddenError', message: `Request ${id} is to be answered by ${reviewers}; it stays open.` }
}

/** `requests`: those that are not open any more, as they are now. */
export function requestNotPending(requests: readonly RequestRow[]): RequestNotPending {
  const [first] = requests
  const which = requests.length === 1 && first !== undefined ? `Request ${first.id} is` : `${requests.length} of these requests are`
  const message = `${which} not open any more: answered, withdrawn or expired. None of these answers was accepted; the first one holds.`
  return { __typename: 'RequestNotPendingError', message, requests }
}

export function idempotencyMismatch(): IdempotencyMismatch {
  return {
    __typename: 'IdempotencyMismatchError',
    message: 'You have used this idempotencyKey for something else; repeat that, or take a new key.',
  }
}

export function limitExceeded(message: string, limit: string, retryAfterMs: number | null = null): LimitExceeded {
  return { __typename: 'LimitExceededError', message, limit, retryAfterMs }
}

const CODES: Readonly<Record<ProblemValue['__typename'], ProblemCode>> = {
  NotFoundError: 'NOT_FOUND',
  ForbiddenError: 'FORBIDDEN',
  InvalidInputError: 'INVALID_INPUT',
  SessionEndedError: 'SESSION_ENDED',
  AddressTakenError: 'ADDRESS_TAKEN',
  RequestNotPendingError: 'REQUEST_NOT_PENDING',
  IdempotencyMismatchError: 'IDEMPOTENCY_MISMATCH',
  LimitExceededError: 'LIMIT_EXCEEDED',
}

export function codeOf({ __typename }: { readonly __typename: ProblemValue['__typename'] }): ProblemCode {
  return CODES[__typename]
}
