/**
 * How answers reach the session that asks: who may give them, whether they fit, and what came of it. The check goes by the requests, not by
 * the session: a reviewer need not see it.
 */
import type { Request as RequestRow } from '../generated/prisma/client.js'
import { storedId } from '../ids.js'
import type { Answer } from '../session/requests.js'
import { hasScope } from './access.js'
import { checkActor, speakerFor, type ActorGiven } from './actors.js'
import { resolveAnswer, type GivenValue } from './answers.js'
import { readDetails } from './column-codec.js'
import type { GraphqlContext } from './context.js'
import { handIn, notTaken, toDelivered, type HandedOver } from './deliver.js'
import { checkInput } from './input-checks.js'
import * as problems from './problems.js'
import { isNamed, mayAnswerRequest, reviewersOf, speakerOf, type Speaker } from './request-access.js'
import { refToTarget } from './targets.js'

export interface RespondGiven {
  readonly session: { readonly id?: string | null | undefined; readonly address?: string | null | undefined }
  readonly answers: readonly AnswerGiven[]
  readonly actor?: ActorGiven | null | undefined
  readonly idempotencyKey?: string | null | undefined
}
interface AnswerGiven {
  readonly requestId: string
  readonly value: GivenValue
  readonly reason?: string | null | undefined
}
type Refused = problems.NotFound | problems.Forbidden | problems.InvalidInput | problems.LimitExceeded
export type Responded = Exclude<HandedOver, problems.AddressTaken> | Refused | problems.RequestNotPending

/** An answer beside what it answers. */
interface Asked {
  readonly given: AnswerGiven
  readonly request: RequestRow
}

export async function respond(context: GraphqlContext, input: RespondGiven): Promise<Responded> {
  const refused = checkScope(context) ?? checkActor(context, input.actor) ?? checkInput('respond', input)
  if (refused !== null) return refused
  const speaker = speakerFor(context, input.actor)
  const asked = await findAsked(context, input, speaker)
  if ('__typename' in asked) return asked
  const answers = checkRights(asked, speaker) ?? readAnswers(asked)
  return '__typename' in answers ? answers : hand(context, input, { asked, answers, speaker })
}

function checkScope({ caller }: GraphqlContext): problems.Forbidden | null {
  if (hasScope(caller, 'sessions:write') || hasScope(caller, 'requests:answer')) return null
  return problems.forbidden('sessions:write or requests:answer')
}

/** Each request that the caller may see or answer, or that who speaks is named by. */
async function findAsked(
  { services, caller, sessions }: GraphqlContext,
  { session, answers }: RespondGiven,
  speaker: Speaker,
): Promise<readonly Asked[] | problems.NotFound> {
  const ids = answers.map(({ requestId }) => requestId)
  const rows = await services.prisma.request.findMany({ where: { id: { in: ids }, tenant: caller.tenant } })
  const byId = new Map(rows.map((row) => [row.id, row]))
  const asked: Asked[] = []
  for (const given of answers) {
    const request = byId.get(given.requestId)
    if (request === undefined || (typeof session.id === 'string' && request.sessionId !== session.id))
      return problems.noRequest(given.requestId)
    asked.push({ given, request })
  }
  const readable = await Promise.all(
    asked.map(
      async ({ request }) =>
        isNamed(request, speaker) || isNamed(request, speakerOf(caller)) || (await sessions.load(request.sessionId)) !== null,
    ),
  )
  const unread = answers[readable.indexOf(false)]
  return unread === undefined ? asked : problems.noRequest(unread.requestId)
}

/** Whoever may see what he may not answer is told who may. */
function checkRights(asked: readonly Asked[], speaker: Speaker): problems.Forbidden | null {
  const foreign = asked.find(({ request }) => !mayAnswerRequest(request, speaker))
  return foreign === undefined ? null : problems.notForYou(foreign.request.id, reviewersOf(foreign.request))
}

function readAnswers(asked: readonly Asked[]): readonly Answer[] | problems.InvalidInput {
  const answers: Answer[] = []
  const issues: problems.InputIssue[] = []
  for (const [index, { given, request }] of asked.entries()) {
    const value = resolveAnswer({ kind: request.kind, ...readDetails(request) }, given.value)
    if ('path' in value) issues.push({ ...value, path: ['answers', String(index), 'value', ...value.path] })
    else answers.push({ requestId: storedId('req', request.id), ...value, reason: given.reason ?? null })
  }
  return issues.length === 0 ? answers : problems.invalidInput(issues)
}

interface Answered {
  readonly asked: readonly Asked[]
  readonly answers: readonly Answer[]
  readonly speaker: Speaker
}

async function hand(context: GraphqlContext, input: RespondGiven, { asked, answers, speaker }: Answered): Promise<Responded> {
  const target = refToTarget(input.session)
  const isOf = (sessionId: string) => asked.every(({ request }) => request.sessionId === sessionId)
  const content = { kind: 'ANSWERS', answers } as const
  const key = input.idempotencyKey ?? null
  const author = input.actor ? speaker.principal : undefined
  const outcome = await handIn(context, { target, content, key, author }, (holder) => Promise.resolve(isOf(holder)))
  if (!('kind' in outcome)) return notTaken(await explainAbsence(outcome, context, input, asked))
  const { sessionId } = outcome
  if ((await context.sessions.load(sessionId)) === null) context.outlines.add(sessionId)
  switch (outcome.kind) {
    case 'accepted':
      return { __typename: 'DeliveryPayload', ...toDelivered(outcome) }
    case 'ended':
      return problems.sessionEnded(sessionId)
    case 'not-pending':
      return problems.requestNotPending(await findRows(context, outcome.requests))
  }
}

/** An address that somebody else holds by now; who it is is told to those only who may see it. */
async function explainAbsence<Problem extends { readonly __typename: string }>(
  problem: Problem,
  { services, caller, sessions }: GraphqlContext,
  { session }: RespondGiven,
  asked: readonly Asked[],
): Promise<Problem | problems.NotFound> {
  if (problem.__typename !== 'NotFoundError' || typeof session.address !== 'string') return problem
  const holder = await services.store.findAddress(caller.tenant, session.address)
  const foreign = asked.find(({ request }) => request.sessionId !== holder)
  if (holder === null || foreign === undefined || !(await sessions.canSee(holder))) return problem
  return problems.noRequest(foreign.request.id)
}

/** As they are now, in the order they were opened. */
function findRows({ services }: GraphqlContext, ids: readonly string[]): Promise<RequestRow[]> {
  return services.prisma.request.findMany({ where: { id: { in: [...ids] } }, orderBy: { id: 'asc' } })
}
