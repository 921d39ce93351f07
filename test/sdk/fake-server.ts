/** A GraphQL server over the fake log, on the project's own schema: queries and mutations by POST, subscriptions by SSE. */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { buildSchema, execute, parse, subscribe, validate, type ExecutionResult } from 'graphql'
import { createFakeLog, type FakeDelivery, type FakeLog, type FakeSession } from './fake-log.js'
import { toPayload, toRequests, toSession, toTurn, type RequestsArgs } from './fake-objects.js'
import { createFakeRequests, type FakeRequests } from './fake-requests.js'

const NO_TOOLS = { mode: 'CONVERSATION', tools: [], approvalRules: [] } as const

const schema = buildSchema(readFileSync('schema.graphql', 'utf8'))

export interface FakeServer {
  readonly url: string
  readonly log: FakeLog
  readonly requests: FakeRequests
  /** Names of the operations asked for, in order. */
  readonly operations: string[]
  /** Authorization headers, in order. */
  readonly credentials: (string | undefined)[]
  /** Answers the next requests itself: return true when it did. */
  intercept(handler: ((request: IncomingMessage, response: ServerResponse) => boolean) | null): void
  /** How often a message was really delivered. */
  delivered(): number
  /** How many subscriptions are open. */
  streams(): number
  /** Resets every open connection; new ones are taken. */
  breakStreams(): void
  close(): Promise<void>
}

/** `heartbeatMs`: how often a quiet stream says an empty batch. */
export async function startFakeServer({ heartbeatMs = 15_000 } = {}): Promise<FakeServer> {
  const log = createFakeLog()
  const operations: string[] = []
  const credentials: (string | undefined)[] = []
  const counter = { delivered: 0, streams: 0 }
  let handler: ((request: IncomingMessage, response: ServerResponse) => boolean) | null = null
  const requests = createFakeRequests(log)
  const root = { ...createRoot(log, { heartbeatMs, counter, requests }), ...requests.root }
  const server = createServer((request, response) => {
    credentials.push(request.headers.authorization)
    if (handler?.(request, response) === true) return
    void serve({ root, counter }, request, response).then((name) => operations.push(name))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`,
    log,
    requests,
    operations,
    credentials,
    intercept: (next) => (handler = next),
    delivered: () => counter.delivered,
    streams: () => counter.streams,
    breakStreams: () => server.closeAllConnections(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Counter {
  delivered: number
  streams: number
}

async function serve(
  { root, counter }: { root: object; counter: Counter },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<string> {
  const { query, variables } = JSON.parse(await text(request)) as { query: string; variables: Record<string, unknown> }
  const document = parse(query)
  const name = /(?:query|mutation|subscription) (\w+)/.exec(query)?.[1] ?? ''
  const errors = validate(schema, document)
  const args = { schema, document, rootValue: root, variableValues: variables }
  if (errors.length > 0) {
    answer(response, 400, { errors })
  } else if (request.headers.accept === 'text/event-stream') {
    const results = await subscribe(args)
    if (Symbol.asyncIterator in results) await stream(response, results, counter)
    else answer(response, 200, results)
  } else {
    answer(response, 200, await execute(args))
  }
  return name
}

function answer(response: ServerResponse, status: number, result: ExecutionResult): void {
  response.writeHead(status, { 'content-type': 'application/graphql-response+json; charset=utf-8' }).end(JSON.stringify(result))
}

async function stream(response: ServerResponse, results: AsyncGenerator<ExecutionResult, void, void>, counter: Counter): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  counter.streams += 1
  response.on('close', () => {
    counter.streams -= 1
    void results.return()
  })
  response.write(':\n\n')
  for await (const result of results) response.write(`event: next\ndata: ${JSON.stringify(result)}\n\n`)
  response.end('event: complete\ndata:\n\n')
}

interface Surroundings {
  readonly heartbeatMs: number
  readonly counter: Counter
  readonly requests: FakeRequests
}

function createRoot(log: FakeLog, { heartbeatMs, counter, requests }: Surroundings): object {
  const keys = new Map<string, FakeDelivery>()
  const open = (id: string): FakeSession | null => log.sessions.get(id) ?? null
  return {
    session: ({ id }: { id: string }) => {
      const session = open(id)
      return session && { ...toSession(session), requests: (of: RequestsArgs) => toRequests(requests, session, of) }
    },
    sessions: ({ first = 2, after }: { first?: number; after?: string | null }) => {
      const all = [...log.sessions.values()]
      const from = all.findIndex((one) => one.id === after) + 1
      const nodes = all.slice(from, from + first)
      return { nodes: nodes.map(toSession), pageInfo: { hasNextPage: from + first < all.length, endCursor: nodes.at(-1)?.id ?? null } }
    },
    node: ({ id }: { id: string }) => toTurn(log, id),
    agents: () => [{ ...{ __typename: 'Agent', id: 'agt_echo', name: 'echo', description: null, model: 'fake/echo' }, ...NO_TOOLS }],
    createSession: ({ input }: { input: { session: { agent: string } } }) => ({
      __typename: 'CreateSessionPayload',
      session: toSession(log.create(input.session.agent)),
      duplicate: false,
    }),
    send: ({ input }: { input: SendInput }) => {
      const known = keys.get(input.idempotencyKey ?? '')
      if (known !== undefined) return toPayload(log.find(known.sessionId), known, { created: false, duplicate: true })
      const session = input.to.session === undefined ? log.create(input.to.create?.agent ?? 'echo') : open(input.to.session)
      if (session === null) return toNotFound(input.to.session ?? '')
      if (session.endedAt !== null) {
        return {
          __typename: 'SessionEndedError',
          code: 'SESSION_ENDED',
          message: `session ${session.id} has ended`,
          session: toSession(session),
        }
      }
      counter.delivered += 1
      const delivery = log.deliver(session, input.message.text)
      keys.set(input.idempotencyKey ?? '', delivery)
      return toPayload(session, delivery, { created: input.to.session === undefined, duplicate: false })
    },
    end: ({ input }: { input: { session: { id: string } } }) => {
      const session = log.find(input.session.id)
      log.end(session)
      const delivery = { id: 'dlv_end', sessionId: session.id, text: '', status: 'APPLIED' } as const
      return { ...toPayload(session, delivery, { created: false, duplicate: false }), __typename: 'DeliveryPayload' }
    },
    async *sessionEvents(args: EventsArgs) {
      const session = open(args.session.id)
      if (session === null) yield { sessionEvents: toNotFound(args.session.id) }
      else yield* follow(log, session, { ...args, heartbeatMs })
    },
  }
}

interface SendInput {
  readonly to: { readonly session?: string; readonly create?: { readonly agent: string } }
  readonly message: { readonly text: string }
  readonly idempotencyKey?: string
}
interface EventsArgs {
  readonly session: { readonly id: string }
  readonly after?: string | null
  readonly last?: number | null
  readonly follow: boolean
  readonly types?: readonly string[] | null
}

async function* follow(
  log: FakeLog,
  session: FakeSession,
  args: EventsArgs & { readonly heartbeatMs: number },
): AsyncGenerator<object, void, void> {
  if (args.after != null && !/^\d+$/.test(args.after)) {
    const issues = [{ path: ['after'], message: 'is not a cursor' }]
    yield {
      sessionEvents: { __typename: 'InvalidInputError', code: 'INVALID_INPUT', message: `after: ${args.after} is not a cursor`, issues },
    }
    return
  }
  let position = args.last == null ? Number(args.after ?? 0) : Math.max(0, session.log.length - args.last)
  for (;;) {
    // Two events a batch, so that even a short log has several.
    const size = position + 2 > session.log.length ? session.log.length : position + 2
    const events = session.log.slice(position, size).filter((event) => args.types == null || args.types.includes(event.type))
    position = size
    const caughtUp = position === session.log.length
    yield { sessionEvents: { __typename: 'SessionEventsBatch', events, cursor: String(position), caughtUp } }
    if (!caughtUp) continue
    if (!args.follow || session.endedAt !== null) return
    await within(log.grown(session, position), args.heartbeatMs)
  }
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  await Promise.race([work, new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))])
  clearTimeout(timer)
}

function toNotFound(id: string): object {
  return { __typename: 'NotFoundError', code: 'NOT_FOUND', message: `there is no session ${id}`, id }
}
