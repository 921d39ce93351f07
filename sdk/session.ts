/** A session by its id: what one can tell it, read of it and follow. Making one makes no request. */
import { toReceipt, type ActOptions, type CallOptions, type DeliverOptions, type DeliveryReceipt } from './delivery.js'
import { toProblemError } from './errors.js'
import { openBatches, openEvents, type EventBatch, type EventStreamOptions } from './event-stream.js'
import type { Acceptance } from './follow-turn.js'
import {
  CancelDocument,
  ClaimAddressDocument,
  ClearDocument,
  CompactDocument,
  EndDocument,
  GetSessionDocument,
  ListSessionRequestsDocument,
  ListTurnsDocument,
  ReleaseAddressDocument,
  SendDocument,
  TranscriptDocument,
  UpdateSessionDocument,
} from './generated/documents.js'
import type {
  InputRequestStatus,
  SendInput,
  SessionFieldsFragment,
  TranscriptQuery,
  TurnFieldsFragment,
  TurnPolicy,
} from './generated/operations.js'
import type { SessionEvent } from './generated/session-events.js'
import { followMessages, type FollowMessagesOptions } from './follow-messages.js'
import { createInputRequest, type InputRequest } from './input-request.js'
import type { MessagesState } from './messages.js'
import { createPages, type Pages } from './pages.js'
import { respond, type Answer, type RespondOptions } from './respond.js'
import type { Transport } from './transport.js'
import { createTurnHandle, type TurnHandle } from './turn.js'

/** What a session is, as it was when it was read. */
export interface SessionInfo extends SessionFieldsFragment {}
export interface TurnInfo extends TurnFieldsFragment {}
export type TranscriptMessage = NonNullable<TranscriptQuery['session']>['transcript'][number]
export type OutgoingMessage = string | { readonly text: string }

export interface SendOptions extends ActOptions {
  /** What to do while a turn is open: STEER (default) joins it, as soon as the server can; QUEUE waits for its end. */
  readonly turnPolicy?: TurnPolicy | undefined
}

export interface Session {
  readonly id: string
  /** Delivers a message. Returns at once; the handle tells of the acceptance and of the turn. */
  send(message: OutgoingMessage, options?: SendOptions): TurnHandle<Session>
  /**
   * Answers what the session asks of people, all of it or nothing. Throws RequestNotPendingError, with the first answers, when one of the
   * requests is not open any more, and ForbiddenError for who may not answer. A turn that waited goes on: ask it for its result again.
   */
  respond(answers: readonly Answer[], options?: RespondOptions): Promise<DeliveryReceipt>
  /** What it asks of people, oldest first. Default: only what is open. */
  requests(options?: CallOptions & { readonly status?: InputRequestStatus | readonly InputRequestStatus[] }): Pages<InputRequest>
  /** Follows the log from a cursor on, across reconnects, without loss or repeat. Stopping to listen never stops the agent. */
  events(options?: EventStreamOptions): AsyncIterableIterator<SessionEvent>
  /** The same in batches: events of whole commits, with the cursor after them. */
  batches(options?: EventStreamOptions): AsyncIterableIterator<EventBatch>
  /** The conversation as it is, then as it becomes: a new state with every change. */
  messages(options?: FollowMessagesOptions): AsyncIterableIterator<MessagesState>
  /** Stops the open turn (or only `turnId`); the session stays open. `dropQueued` rejects what waits behind it. */
  cancel(options?: DeliverOptions & { readonly turnId?: string; readonly dropQueued?: boolean }): Promise<DeliveryReceipt>
  /** Empties what the model reads. An open turn is cancelled first, and messages that wait are rejected. */
  clear(options?: DeliverOptions): Promise<DeliveryReceipt>
  /** Summarises what the model reads, between turns; `instructions` say what to keep. */
  compact(options?: DeliverOptions & { readonly instructions?: string }): Promise<DeliveryReceipt>
  /** Ends the session for good. Repeating it gives the first end. */
  end(options?: DeliverOptions & { readonly reason?: string }): Promise<DeliveryReceipt>
  /** Sets what is given, leaves the rest. */
  update(
    changes: { readonly title?: string; readonly metadata?: { readonly [key: string]: unknown } },
    options?: CallOptions,
  ): Promise<SessionInfo>
  /** Holds `channel:value` from now on: what is sent to the address reaches this session. Repeating it changes nothing. */
  claimAddress(address: string, options?: CallOptions): Promise<SessionInfo>
  /** Does not hold the address any more. Repeating it changes nothing. */
  releaseAddress(address: string, options?: CallOptions): Promise<SessionInfo>
  /** Null when there is no such session, or the caller may not see it. */
  get(options?: CallOptions): Promise<SessionInfo | null>
  /** What was said, oldest first; `maxMessages` keeps the newest. Null as for `get`. */
  transcript(options?: CallOptions & { readonly maxMessages?: number }): Promise<readonly TranscriptMessage[] | null>
  /** Its turns, oldest first. */
  turns(options?: CallOptions & { readonly first?: number; readonly after?: string }): Pages<TurnInfo>
}

export function createSession(transport: Transport, id: string): Session {
  const key = (own: string | undefined): string => own ?? transport.runtime.newKey()
  const session: Session = {
    id,
    send: (message, options = {}) => sendMessage(transport, { session: id }, message, options),
    respond: (answers, options) => respond(transport, id, answers, options),
    requests: ({ signal, status = 'PENDING' } = {}) =>
      createPages(async (after) => {
        const found = (await transport.request(ListSessionRequestsDocument, { id, status, after: after ?? null }, { signal })).session
        const { nodes, pageInfo } = found?.requests ?? NO_PAGE
        return { nodes: nodes.map((info) => createInputRequest(transport, info)), pageInfo }
      }),
    events: (options) => openEvents(transport, id, options),
    batches: (options) => openBatches(transport, id, options),
    messages: (options) => followMessages(transport, id, options),
    async cancel({ signal, idempotencyKey, ...input } = {}) {
      const variables = { input: { ...input, session: { id }, idempotencyKey: key(idempotencyKey) } }
      return toReceipt((await transport.request(CancelDocument, variables, { signal })).cancel)
    },
    async clear({ signal, idempotencyKey } = {}) {
      const variables = { input: { session: { id }, idempotencyKey: key(idempotencyKey) } }
      return toReceipt((await transport.request(ClearDocument, variables, { signal })).clear)
    },
    async compact({ signal, idempotencyKey, ...input } = {}) {
      const variables = { input: { ...input, session: { id }, idempotencyKey: key(idempotencyKey) } }
      return toReceipt((await transport.request(CompactDocument, variables, { signal })).compact)
    },
    async end({ signal, idempotencyKey, ...input } = {}) {
      const variables = { input: { ...input, session: { id }, idempotencyKey: key(idempotencyKey) } }
      return toReceipt((await transport.request(EndDocument, variables, { signal })).end)
    },
    async update(changes, { signal } = {}) {
      const { updateSession: result } = await transport.request(UpdateSessionDocument, { input: { ...changes, session: id } }, { signal })
      if (result.__typename !== 'SessionPayload') throw toProblemError(result)
      return result.session
    },
    async claimAddress(address, { signal } = {}) {
      const { claimAddress: result } = await transport.request(ClaimAddressDocument, { input: { session: id, address } }, { signal })
      if (result.__typename !== 'SessionPayload') throw toProblemError(result)
      return result.session
    },
    async releaseAddress(address, { signal } = {}) {
      const { releaseAddress: result } = await transport.request(ReleaseAddressDocument, { input: { session: id, address } }, { signal })
      if (result.__typename !== 'SessionPayload') throw toProblemError(result)
      return result.session
    },
    get: async ({ signal } = {}) => (await transport.request(GetSessionDocument, { id }, { signal })).session,
    async transcript({ signal, maxMessages } = {}) {
      const variables = { id, maxMessages: maxMessages ?? null }
      return (await transport.request(TranscriptDocument, variables, { signal })).session?.transcript ?? null
    },
    turns: ({ signal, first, after } = {}) =>
      createPages(async (next) => {
        const variables = { id, first: first ?? null, after: next ?? after ?? null }
        return (await transport.request(ListTurnsDocument, variables, { signal })).session?.turns ?? NO_PAGE
      }),
  }
  return session
}

const NO_PAGE = { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } }

/** Sends to a session, an address or a new session; the request is repeated under one key until it is answered (T1). */
export function sendMessage(
  transport: Transport,
  to: SendInput['to'],
  message: OutgoingMessage,
  options: SendOptions,
): TurnHandle<Session> {
  const { signal, actor, turnPolicy = 'STEER', idempotencyKey = transport.runtime.newKey() } = options
  const text = typeof message === 'string' ? message : message.text
  const accept = async (): Promise<Acceptance<Session>> => {
    const variables = { input: { to, message: { text }, turnPolicy, idempotencyKey, ...(actor !== undefined && { actor }) } }
    const { send: result } = await transport.request(SendDocument, variables, { signal })
    if (result.__typename !== 'SendPayload') throw toProblemError(result)
    const { delivery, created, duplicate } = result
    return { session: createSession(transport, result.delivery.sessionId), delivery, created, duplicate }
  }
  return createTurnHandle(transport, { accepted: accept(), signal })
}
