/**
 * Follows the turn that a delivered message starts or joins.
 *
 * - H1 The turn is the one that names the delivery: TURN_STARTED.deliveries when the message starts it (alone or with others),
 *   MESSAGE_RECEIVED when it joins one that is open, DELIVERY_SETTLED when it answers a question of one.
 * - H2 A delivery that is rejected ends the following: nobody waits for a turn that will not be.
 * - H3 Following begins where the log names the delivery, also when that was before the send's answer arrived, or days ago for a
 *   repeated key.
 * - H4 It goes on across outages of any length, as an event stream does; whoever follows sets the limit by a signal.
 */
import { PerdureError, toProblemError } from './errors.js'
import { openEvents, type EventStreamOptions } from './event-stream.js'
import { SessionLogDocument } from './generated/documents.js'
import type { DeliveryFieldsFragment, SessionEventType, SessionLogQueryVariables } from './generated/operations.js'
import type { SessionEvent } from './generated/session-events.js'
import { toSessionEvent } from './session-events.js'
import type { Transport } from './transport.js'
import { advanceProgress, startProgress, type TurnProgress } from './turn-progress.js'

/** The server has the message, durably. */
export interface Acceptance<Session> {
  /** Where it was delivered. */
  readonly session: Session
  readonly delivery: DeliveryFieldsFragment
  /** True when this send created the session. */
  readonly created: boolean
  /** True when the idempotency key had been used: this is the first delivery, whatever became of it. */
  readonly duplicate: boolean
}

/** Types that name deliveries (H1). */
export const MARKS = ['TURN_STARTED', 'MESSAGE_RECEIVED', 'DELIVERY_SETTLED'] as const satisfies readonly SessionEventType[]
const MARKS_PAGE = 200

export interface Told {
  readonly event: SessionEvent
  readonly progress: TurnProgress
}

/** Ends after the event that ends the turn; throws when the log ends before it. */
export async function* followTurn<Session extends { readonly id: string }>(
  transport: Transport,
  acceptance: Acceptance<Session>,
  options: EventStreamOptions,
): AsyncGenerator<Told, void, undefined> {
  let progress = startProgress(acceptance.delivery.id)
  const origin = acceptance.created && !acceptance.duplicate ? FROM_START : await findOrigin(transport, acceptance, options.signal)
  for await (const event of continueFrom(transport, acceptance.session.id, { origin, options })) {
    const next = advanceProgress(progress, event)
    if (next === null) continue
    progress = next
    yield { event, progress }
    if (progress.end !== null) return
  }
  throw new PerdureError('TURN_MISSING', `the log of ${acceptance.session.id} ended without the end of the turn of ${progress.deliveryId}`)
}

/** Where to begin to follow (H3). */
interface Origin {
  /** The first event that names the delivery, when it is already recorded. */
  readonly mark: SessionEvent | null
  readonly after: string | undefined
}
const FROM_START: Origin = { mark: null, after: undefined }

async function* continueFrom(
  transport: Transport,
  sessionId: string,
  { origin, options }: { readonly origin: Origin; readonly options: EventStreamOptions },
): AsyncGenerator<SessionEvent, void, undefined> {
  if (origin.mark !== null) yield origin.mark
  yield* openEvents(transport, sessionId, { ...options, after: origin.after })
}

async function findOrigin<Session extends { readonly id: string }>(
  transport: Transport,
  { session, delivery, duplicate }: Acceptance<Session>,
  signal: AbortSignal | undefined,
): Promise<Origin> {
  const unnamed = startProgress(delivery.id)
  let tail: string | undefined
  for (let before: string | null = null; ;) {
    const variables: SessionLogQueryVariables = { id: session.id, last: MARKS_PAGE, before, types: MARKS }
    const log: LogPage = (await transport.request(SessionLogDocument, variables, { signal, maxAttempts: Infinity })).session
    if (log === null) throw toProblemError(gone(session.id))
    tail ??= log.cursor
    const mark = log.events.nodes.map(toSessionEvent).find((event) => advanceProgress(unnamed, event) !== null)
    if (mark !== undefined) return { mark, after: mark.cursor }
    before = log.events.pageInfo.startCursor
    // A message of just now is not named further back; that of a repeated key may be anywhere.
    if (!duplicate || before === null || !log.events.pageInfo.hasPreviousPage) return { mark: null, after: tail }
  }
}

interface LogEvents {
  readonly nodes: readonly { readonly __typename: string }[]
  readonly pageInfo: { readonly hasPreviousPage: boolean; readonly startCursor: string | null }
}
type LogPage = { readonly cursor: string; readonly events: LogEvents } | null

function gone(id: string): Parameters<typeof toProblemError>[0] {
  return { __typename: 'NotFoundError', code: 'NOT_FOUND', message: `there is no session ${id}, or you may not see it any more`, id }
}
