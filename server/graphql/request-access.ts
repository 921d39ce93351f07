/**
 * Who may answer what sessions ask, and who may look at it: whoever may answer, and whoever may see the session. Of the session itself
 * a reviewer is told the id, the title, the agent and the status, and what is asked.
 */
import type { Prisma, Request as RequestRow } from '../generated/prisma/client.js'
import type { Principal } from '../session/principal.js'
import { authorityOf, mayAnswer } from '../session/requests.js'
import { authorityWords, hasScope, toPrincipal, visibleTo } from './access.js'
import type { Caller } from './caller.js'
import { readDetails } from './column-codec.js'
import type { Sessions } from './sessions.js'

/** Somebody who speaks, with the roles and scopes that he speaks with. */
export interface Speaker {
  readonly principal: Principal
  readonly authority: readonly string[]
}

export function speakerOf(caller: Caller): Speaker {
  return { principal: toPrincipal(caller), authority: authorityWords(caller) }
}

/**
 * The requests that a caller may answer: those that name it, one of its roles or scopes, or whose turn serves it; what anybody may
 * answer who reaches the session, of those that it may see. Without a scope to read or to answer: none.
 */
export function answerableTo(caller: Caller): Prisma.RequestWhereInput {
  if (!isReviewer(caller)) return { id: { in: [] } }
  const named = { answerableBy: { hasSome: [...namedAuthority(speakerOf(caller))] } }
  return { tenant: caller.tenant, OR: [named, { answerableBy: { has: 'anyone' }, session: visibleTo(caller) }] }
}

/** Whether the caller may look at a request of its tenant. */
export async function mayReadRequest(
  request: RequestRow,
  { caller, sessions }: { readonly caller: Caller; readonly sessions: Pick<Sessions, 'load'> },
): Promise<boolean> {
  if (isReviewer(caller) && isNamed(request, speakerOf(caller))) return true
  return (await sessions.load(request.sessionId)) !== null
}

/** Whether the request is for this one in particular, who then need not see its session. */
export function isNamed({ answerableBy }: RequestRow, speaker: Speaker): boolean {
  const has = namedAuthority(speaker)
  return answerableBy.some((word) => has.includes(word))
}

/** Whether this one may answer, where he may see the session or is named. */
export function mayAnswerRequest(request: RequestRow, { principal, authority }: Speaker): boolean {
  return mayAnswer({ reviewers: request.reviewers, served: readDetails(request).served }, principal, authority)
}

/** Who may, in words. */
export function reviewersOf(request: RequestRow): string {
  const { served } = readDetails(request)
  if (request.reviewers.length === 0) return `${served.name ?? served.id}, whom the turn serves`
  return request.reviewers.map((word) => word.replace(/^principal:/, '').replace(/^(role|scope):/, 'the $1 ')).join(' or ')
}

function isReviewer(caller: Caller): boolean {
  return hasScope(caller, 'sessions:read') || hasScope(caller, 'requests:answer')
}

function namedAuthority({ principal, authority }: Speaker): readonly string[] {
  return authorityOf(principal, authority).filter((word) => word !== 'anyone')
}
