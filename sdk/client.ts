/** The way in: a client of one server. It holds no connection; dropping it needs no closing. */
import type { CallOptions, DeliverOptions } from './delivery.js'
import type { TypedDocument } from './document.js'
import { toProblemError } from './errors.js'
import {
  CreateSessionDocument,
  GetAgentDocument,
  GetSessionByAddressDocument,
  GetSessionDocument,
  ListAgentsDocument,
  ListSessionsDocument,
} from './generated/documents.js'
import type { AgentFieldsFragment, NewSessionInput, SessionFilter } from './generated/operations.js'
import { createInputRequests, type InputRequests, type InputRequestsOptions } from './input-requests.js'
import { createPages, type Pages } from './pages.js'
import { createRuntime, type Runtime } from './runtime.js'
import { createSession, sendMessage, type OutgoingMessage, type SendOptions, type Session, type SessionInfo } from './session.js'
import { createTransport, type HeadersSource, type Transport } from './transport.js'
import type { TurnHandle } from './turn.js'

export interface ClientOptions {
  /** Of the GraphQL endpoint, e.g. `http://localhost:4000/graphql`. */
  readonly url: string
  /** Sent with every request; a function is asked each time. */
  readonly headers?: HeadersSource
  /** Sent as `authorization: Bearer …`; a function is asked at every request and reconnect, so that it can refresh. */
  readonly token?: string | (() => string | Promise<string>)
  /** Instead of the global one. */
  readonly fetch?: typeof fetch
  /** The longest that one try of a request may take, milliseconds. Default 30,000. Event streams have their own: `idleTimeoutMs`. */
  readonly requestTimeoutMs?: number
}

export interface AgentInfo extends AgentFieldsFragment {}

export type NewSession = NewSessionInput & DeliverOptions
export interface CreatedSession extends Session {
  readonly info: SessionInfo
  /** True when the idempotency key had been used: this is the session of then. */
  readonly duplicate: boolean
}
export interface ListSessionsOptions extends CallOptions {
  readonly filter?: SessionFilter
  /** Nodes of a page; the server's default and limit apply. */
  readonly first?: number
  readonly after?: string
}

export interface Sessions {
  /** Creates a session and parks it before its first turn. */
  create(input: NewSession): Promise<CreatedSession>
  /** Await it for a page, iterate it for all. */
  list(options?: ListSessionsOptions): Pages<SessionInfo>
  /** Null when there is no such session, or the caller may not see it. */
  get(id: string, options?: CallOptions): Promise<SessionInfo | null>
  /** The open session that holds an address; null when nobody does, or the caller may not see it. */
  getByAddress(address: string, options?: CallOptions): Promise<SessionInfo | null>
}
export interface Agents {
  list(options?: CallOptions): Promise<readonly AgentInfo[]>
  /** Null when this deployment has no agent of that name. */
  get(name: string, options?: CallOptions): Promise<AgentInfo | null>
}
export interface SendToAgentOptions extends SendOptions {
  /** Delivers to whoever holds it; a session of this agent is created there when nobody does. Without it: always a new session. */
  readonly address?: string
}
export interface Agent {
  readonly name: string
  /** Sends to a session of this agent; it is `(await turn.accepted).session`. */
  send(message: OutgoingMessage, options?: SendToAgentOptions): TurnHandle<Session>
}

export interface GraphqlOptions extends CallOptions {
  /** Whether a request that was lost is made again. Default: for a query, not for a mutation. */
  readonly retry?: boolean
}

export interface Client {
  readonly sessions: Sessions
  readonly agents: Agents
  /** A session by its id. Makes no request. */
  session(id: string): Session
  /** An agent by its name. Makes no request. */
  agent(name: string): Agent
  /** The reviewer's queue: what sessions ask that the caller may answer. Makes no request. */
  inputRequests(options?: InputRequestsOptions): InputRequests
  /**
   * Runs a document of your own, e.g. one that GraphQL Code Generator typed with `documentMode: 'string'`. Requests that were lost
   * are repeated for a query, and for a mutation only with `retry: true`: give it an idempotency key then.
   */
  graphql<Result, Variables>(document: TypedDocument<Result, Variables>, variables: Variables, options?: GraphqlOptions): Promise<Result>
}

const REQUEST_TIMEOUT_MS = 30_000

export function createClient(options: ClientOptions): Client {
  return createClientOn(options, createRuntime(options.fetch))
}

/** With its surroundings given. */
export function createClientOn({ url, headers, token, requestTimeoutMs = REQUEST_TIMEOUT_MS }: ClientOptions, runtime: Runtime): Client {
  const transport = createTransport({ url, headers, token, requestTimeoutMs, runtime })
  return {
    sessions: createSessions(transport),
    agents: {
      list: async ({ signal } = {}) => (await transport.request(ListAgentsDocument, {}, { signal })).agents,
      get: async (name, { signal } = {}) => (await transport.request(GetAgentDocument, { name }, { signal })).agent,
    },
    session: (id) => createSession(transport, id),
    agent: (name) => ({
      name,
      send: (message, { address, ...options } = {}) => {
        const create = { agent: name }
        return sendMessage(transport, address === undefined ? { create } : { address: { address, create } }, message, options)
      },
    }),
    inputRequests: (options) => createInputRequests(transport, options),
    graphql: (document, variables, { signal, retry = isQuery(document.toString()) } = {}) =>
      transport.request(document, variables, { signal, ...(retry ? {} : { maxAttempts: 1 }) }),
  }
}

function createSessions(transport: Transport): Sessions {
  return {
    async create({ signal, idempotencyKey = transport.runtime.newKey(), ...session }) {
      const { createSession: result } = await transport.request(CreateSessionDocument, { input: { session, idempotencyKey } }, { signal })
      if (result.__typename !== 'CreateSessionPayload') throw toProblemError(result)
      return { ...createSession(transport, result.session.id), info: result.session, duplicate: result.duplicate }
    },
    list: ({ signal, filter, first, after } = {}) =>
      createPages(async (next) => {
        const variables = { filter: filter ?? null, first: first ?? null, after: next ?? after ?? null }
        return (await transport.request(ListSessionsDocument, variables, { signal })).sessions
      }),
    get: async (id, { signal } = {}) => (await transport.request(GetSessionDocument, { id }, { signal })).session,
    getByAddress: async (address, { signal } = {}) =>
      (await transport.request(GetSessionByAddressDocument, { address }, { signal })).sessionByAddress,
  }
}

/** A document whose operation is not a mutation. Comments and fragments may come first. */
function isQuery(document: string): boolean {
  return !/(^|[}\s])mutation\b/.test(document.replaceAll(/#.*/g, ''))
}
