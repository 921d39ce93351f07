/** The subscription to a session's log: what is wrong with the question is told as data, then batches come until the session ends. */
import type { GraphQLError } from 'graphql'
import type { BatchReader } from '../events/batch-reader.js'
import type { EventBatch } from '../events/event-batch.js'
import { storedId, type SessionId } from '../ids.js'
import type { EventType } from '../session/events.js'
import { watchAccess } from './access-watch.js'
import type { Caller } from './caller.js'
import type { GraphqlContext } from './context.js'
import { parseCursor } from './event-cursor.js'
import { withRetractions } from './event-filter.js'
import { MAX_REPLAY } from './limits.js'
import { invalidInput, noHolder, noSession, type InputIssue, type InvalidInput, type NotFound } from './problems.js'
import { createSessions, type SessionRow } from './sessions.js'
import { createBatchSource, type BatchSource } from './stream.js'

export interface SessionEventsQuestion {
  readonly session: { readonly id?: string | null | undefined; readonly address?: string | null | undefined }
  readonly after?: string | null | undefined
  readonly last?: number | null | undefined
  readonly follow: boolean
  readonly types?: readonly EventType[] | null | undefined
}
type Refused = NotFound | InvalidInput
/** Subscribers of one log are given the very same batches, so that they share what is made of them (X1 of shared-executions.ts). */
export type SessionEventsAnswer = EventBatch | Refused

/** An error among the items is the last one, and becomes a top-level error. */
export function followSession(question: SessionEventsQuestion, context: GraphqlContext): BatchSource<Refused | GraphQLError> {
  return createBatchSource((left) => answer(question, context, left))
}

async function* answer(
  question: SessionEventsQuestion,
  context: GraphqlContext,
  left: AbortSignal,
): AsyncGenerator<Refused | GraphQLError | BatchReader, void> {
  const start = await findStart(question, context)
  if ('__typename' in start) {
    yield start
    return
  }
  const { sessionId, after } = start
  context.following.sessionId = sessionId
  const watch = watchAccess(context, left, (caller) => checkVisible(sessionId, caller, context))
  const types = question.types ? withRetractions(question.types) : undefined
  try {
    const { follow } = question
    yield context.services.feed.open(sessionId, { after, follow, types, signal: watch.signal })
    const reason = watch.reason()
    if (reason !== null && !left.aborted) yield reason
  } finally {
    watch.stop()
  }
}

async function checkVisible(sessionId: string, caller: Caller, { services }: GraphqlContext): Promise<NotFound | null> {
  return (await createSessions(services.prisma, caller).canSee(sessionId)) ? null : noSession(sessionId)
}

interface Start {
  readonly sessionId: SessionId
  readonly after: number
}

async function findStart(question: SessionEventsQuestion, context: GraphqlContext): Promise<Start | Refused> {
  const { after = null, last = null } = question
  const wrong = checkBounds(after, last)
  if (wrong !== null) return invalidInput([wrong])
  const session = await findSession(question.session, context)
  if ('__typename' in session) return session
  const sessionId = storedId('ses', session.id)
  if (last !== null) return { sessionId, after: await positionBefore(sessionId, last, question, context) }
  const position = after === null ? 0 : (parseCursor(after) ?? 0)
  const end = session.head?.lastSeq ?? 0
  if (position <= end) return { sessionId, after: position }
  return invalidInput([{ path: ['after'], message: `is beyond the end of the log, ${end}; take the cursor of an event or of the session` }])
}

function checkBounds(after: string | null, last: number | null): InputIssue | null {
  if (after !== null && last !== null) return { path: ['last'], message: 'is given together with after; give one of them' }
  if (after !== null && parseCursor(after) === null) {
    return { path: ['after'], message: `is no cursor: ${JSON.stringify(after)}; take the cursor of an event or of the session` }
  }
  if (last !== null && (last < 0 || last > MAX_REPLAY)) return { path: ['last'], message: `is ${last}; it must be from 0 to ${MAX_REPLAY}` }
  return null
}

async function findSession({ id, address }: SessionEventsQuestion['session'], context: GraphqlContext): Promise<SessionRow | NotFound> {
  const { services, caller, sessions } = context
  if (typeof address !== 'string') return (await sessions.load(id ?? '')) ?? noSession(id ?? '')
  const holder = await services.store.findAddress(caller.tenant, address)
  return (holder === null ? null : await sessions.load(holder)) ?? noHolder(address)
}

/** After this position come the last so many events, as the log is now. */
async function positionBefore(
  sessionId: SessionId,
  last: number,
  { types }: SessionEventsQuestion,
  { services }: GraphqlContext,
): Promise<number> {
  const before = await services.prisma.event.findFirst({
    where: { sessionId, ...(types && { type: { in: [...withRetractions(types)] } }) },
    orderBy: { position: 'desc' },
    skip: last,
    select: { position: true },
  })
  return before?.position ?? 0
}
