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
import { openBatches, type EventStreamOptions } from './event-stream.js'
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

/** Events of the turn that came together. */
export interface Told {
  readonly events: readonly SessionEvent[]
  /** After them. */
  readonly progress: TurnProgress
  /** Whether this is all that was recorded. */
  readonly caughtUp: boolean
}

/** Ends after the event that ends the turn; throws when the log ends before it. */
export async function* followTurn<Session extends { readonly id: string }>(
  transport: Transport,
  acceptance: Acceptance<Session>,
  options: EventStreamOptions,
): AsyncGenerator<Told, void, undefined> {
  const { session, delivery, created, duplicate } = acceptance
  const { mark, after } = created && !duplicate ? FROM_START : await findOrigin(transport, acceptance, options.signal)
  let told = tell(startProgress(delivery.id), mark === null ? [] : [mark], false)
  if (mark !== null) yield told
  if (told.progress.end !== null) return
  for await (const { events, caughtUp } of openBatches(transport, session.id, { ...options, after })) {
    told = tell(told.progress, events, caughtUp)
    yield told
    if (told.progress.end !== null) return
  }
  throw new PerdureError('TURN_MISSING', `the log of ${session.id} ended without the end of the turn of ${delivery.id}`)
}

function tell(before: TurnProgress, all: readonly SessionEvent[], caughtUp: boolean): Told {
  let progress = before
  const events: SessionEvent[] = []
  for (const event of all) {
    const next = progress.end === null ? advanceProgress(progress, event) : null
    if (next === null) continue
    progress = next
    events.push(event)
  }
  return { events, progress, caughtUp }
}

/** Where to begin to follow (H3). */
interface Origin {
  /** The first event that names the delivery, when it is already recorded. */
  readonly mark: SessionEvent | null
  readonly after: string | undefined
}
const FROM_START: Origin = { mark: null, after: undefined }

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
