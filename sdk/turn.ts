/** A message that was sent, and the turn that it starts or joins: iterate it, or wait for its result. */
import { PerdureError, TimeoutError, toProblemError } from './errors.js'
import { closing } from './event-stream.js'
import { followTurn, MARKS, type Acceptance } from './follow-turn.js'
import { GetTurnDocument } from './generated/documents.js'
import type { SessionEventType } from './generated/operations.js'
import type { Failure, SessionEvent, TokenUsage } from './generated/session-events.js'
import type { InputRequest } from './input-request.js'
import { loadWait } from './load-wait.js'
import { linkAbort, toError, untilAborted } from './runtime.js'
import type { Transport } from './transport.js'
import type { TurnProgress } from './turn-progress.js'

interface TurnFacts {
  readonly turnId: string
  /** Counts the session's turns from 1. */
  readonly number: number
  /** What the agent answered; for a turn that did not complete, the last that it had said. */
  readonly text: string
}
interface TurnOutcome extends TurnFacts {
  readonly usage: TokenUsage
  /** From start to end on the wall clock. */
  readonly latencyMs: number
}

/** How it went, or what it waits for. A turn that failed is a result too: `status` tells. */
export type TurnResult =
  | (TurnOutcome & { readonly status: 'completed' })
  | (TurnOutcome & { readonly status: 'failed'; readonly error: Failure | null })
  | (TurnOutcome & { readonly status: 'cancelled'; readonly reason: string | null })
  /** Nothing of it runs before people have answered; at least one request is open. Answer, then ask for the result again. */
  | (TurnFacts & { readonly status: 'waiting'; readonly requests: readonly InputRequest[] })
  /** The message never became part of a turn: the session ended before, or it was dropped from the queue. */
  | { readonly status: 'rejected'; readonly deliveryId: string; readonly reason: string | null }

export interface ResultOptions {
  /** Stops waiting; the turn goes on. */
  readonly signal?: AbortSignal | undefined
  /** How long to wait, milliseconds; then TimeoutError, and the turn goes on. Default: as long as it takes. */
  readonly timeoutMs?: number | undefined
  /** True: does not stop where the turn waits for people, for whom others ask. Default false. */
  readonly throughWaits?: boolean | undefined
}

/**
 * Iterate it for every event of the turn, from its acceptance to its end; each iteration starts anew. A send that failed is
 * thrown by whatever you await: `accepted`, `result()` or the iteration.
 */
export interface TurnHandle<Session> extends AsyncIterable<SessionEvent> {
  /** Resolves when the message is durable. Rejects with a ProblemError when the server refuses it. */
  readonly accepted: Promise<Acceptance<Session>>
  /**
   * Waits until the turn has ended, or waits for people; across reconnects. Asked again it goes on with the same turn: to its end, to
   * its next wait, or to what is still open of this one.
   */
  result(options?: ResultOptions): Promise<TurnResult>
}

/** What a result is made of. */
const RESULT_TYPES = [
  ...MARKS,
  'MESSAGE_COMPLETED',
  'TURN_WAITING',
  'TURN_RESUMED',
  'TURN_COMPLETED',
  'TURN_FAILED',
  'TURN_CANCELLED',
  'SESSION_COMPLETED',
  'SESSION_FAILED',
  'SESSION_CANCELLED',
] as const satisfies readonly SessionEventType[]

interface Sent<Session> {
  readonly accepted: Promise<Acceptance<Session>>
  /** That of the send; it ends following too. */
  readonly signal: AbortSignal | undefined
}

export function createTurnHandle<Session extends { readonly id: string }>(transport: Transport, sent: Sent<Session>): TurnHandle<Session> {
  // A handle that is kept for later must not end the process as an unhandled rejection.
  sent.accepted.catch(() => undefined)
  return {
    accepted: sent.accepted,
    [Symbol.asyncIterator]: () =>
      closing(sent.signal, async function* (signal) {
        for await (const { events } of followTurn(transport, await sent.accepted, { signal })) yield* events
      }),
    async result({ signal, timeoutMs, throughWaits = false } = {}) {
      const fromSend = linkAbort(sent.signal)
      const link = linkAbort(signal)
      fromSend.signal.addEventListener('abort', () => link.abort(toError(fromSend.signal.reason)))
      const expire = (): void => link.abort(new TimeoutError('the turn', timeoutMs ?? 0))
      const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs)
      try {
        return await untilAborted(readResult(transport, sent.accepted, { signal: link.signal, throughWaits }), link.signal)
      } finally {
        clearTimeout(timer)
        fromSend.release()
        link.release()
      }
    },
  }
}

interface Reading {
  readonly signal: AbortSignal
  readonly throughWaits: boolean
}

/** What the log says of a wait may be answered already: who is still waited for is asked, when all that is recorded was read. */
async function readResult<Session extends { readonly id: string }>(
  transport: Transport,
  accepted: Promise<Acceptance<Session>>,
  { signal, throughWaits }: Reading,
): Promise<TurnResult> {
  const acceptance = await accepted
  let progress: TurnProgress | null = null
  // Of a turn that was joined, until it is known.
  let mayAsk = true
  for await (const told of followTurn(transport, acceptance, { signal, types: RESULT_TYPES })) {
    progress = told.progress
    const { turnId, asks, text, end } = progress
    if (throughWaits || !told.caughtUp || turnId === null || end !== null || !(asks ?? mayAsk)) continue
    const wait = await loadWait(transport, { session: acceptance.session.id, turn: turnId }, signal)
    if (wait === null) throw noTurn(turnId)
    const { requests } = wait
    if (requests.length > 0) return { status: 'waiting', turnId, number: progress.number ?? wait.number, text: text ?? '', requests }
    mayAsk = wait.isWaiting
  }
  return toResult(transport, progress, signal)
}

async function toResult(transport: Transport, progress: TurnProgress | null, signal: AbortSignal): Promise<TurnResult> {
  const end = progress?.end ?? null
  if (progress === null || end === null) throw new PerdureError('TURN_MISSING', 'the turn has no end')
  if (end.type === 'DELIVERY_SETTLED') return { status: 'rejected', deliveryId: end.delivery, reason: end.reason }
  const turnId = end.turnId ?? ''
  const number = progress.number ?? (await loadNumber(transport, turnId, signal))
  const outcome = { turnId, number, text: end.output ?? progress.text ?? '', usage: end.usage, latencyMs: end.latencyMs }
  switch (end.type) {
    case 'TURN_COMPLETED':
      return { ...outcome, status: 'completed' }
    case 'TURN_FAILED':
      return { ...outcome, status: 'failed', error: end.error }
    case 'TURN_CANCELLED':
      return { ...outcome, status: 'cancelled', reason: end.reason }
  }
}

/** For a message that joined a turn: its start was not seen. */
async function loadNumber(transport: Transport, turnId: string, signal: AbortSignal): Promise<number> {
  const { node } = await transport.request(GetTurnDocument, { id: turnId }, { signal, maxAttempts: Infinity })
  if (node?.__typename === 'Turn') return node.number
  throw noTurn(turnId)
}

function noTurn(id: string): Error {
  return toProblemError({ __typename: 'NotFoundError', code: 'NOT_FOUND', message: `there is no turn ${id}`, id })
}
