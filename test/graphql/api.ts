/**
 * The API in this process, over a database of its own. `hello` is driven and uses a tool when it is asked for the time; `support` is
 * known and never driven, so that its deliveries stay as they were accepted.
 */
import { createServer } from 'node:http'
import { PrismaPg } from '@prisma/adapter-pg'
import { z } from 'zod'
import type { Agent } from '../../server/agents/define-agent.js'
import { createRegistry } from '../../server/agents/registry.js'
import { systemClock, type Clock } from '../../server/clock.js'
import { createFeed } from '../../server/events/feed.js'
import { PrismaClient } from '../../server/generated/prisma/client.js'
import { SCOPES, type Authenticate, type Scope } from '../../server/graphql/caller.js'
import type { GraphqlServices } from '../../server/graphql/context.js'
import { createGraphqlHandler } from '../../server/graphql/http.js'
import { createIdSource, type SessionId } from '../../server/ids.js'
import { defineAgent, defineTool, scripted } from '../../server/index.js'
import type { Coordinator, Log } from '../../server/session/ports.js'
import { openTestPostgres } from '../support/databases.js'
import { startWorld } from '../support/world.js'

const clock = defineTool({ description: 'Tells the time.', input: z.object({}), execute: () => ({ hour: 12 }) })

const HELLO = defineAgent({
  name: 'hello',
  description: 'Greets people.',
  model: scripted(({ lastUserText, step }) => {
    if (lastUserText === 'time' && step === 0) return { text: 'Let me look.', calls: [{ name: 'clock' }, { name: 'clock' }] }
    if (lastUserText === 'hang') return { text: 'One moment', hang: true }
    return `Hello, ${lastUserText}!`
  }),
  instructions: 'You greet people.',
  tools: { clock },
})
const SUPPORT = defineAgent({ name: 'support', model: scripted(), instructions: 'You help people.' })

export interface Answer<Data> {
  readonly status: number
  readonly data: Data
  readonly errors?: readonly {
    readonly message: string
    readonly path?: readonly (string | number)[]
    readonly extensions: Readonly<Record<string, unknown>>
  }[]
}

export interface ApiOptions {
  /** Default: `authenticateByHeader`. */
  readonly authenticate?: Authenticate | null
  readonly development?: boolean
  readonly clock?: Clock
  /** Driven, beside `hello`. */
  readonly agents?: readonly Agent[]
}

export type Api = Awaited<ReturnType<typeof startApi>>

/** `x-caller: id` or `id;scope,scope`, with `@tenant` behind the id for another tenant than `default`; `role:x` among the scopes is a role. */
export function authenticateByHeader(request: Request) {
  const header = request.headers.get('x-caller')
  if (header === null) return null
  const [who = '', scopes] = header.split(';')
  const [id = '', tenant = 'default'] = who.split('@')
  const some = scopes === undefined ? ['sessions:read', 'sessions:write'] : scopes.split(',')
  const roles = some.flatMap((one) => (one.startsWith('role:') ? [one.slice('role:'.length)] : []))
  return { tenant, id, kind: 'USER' as const, scopes: SCOPES.filter((scope: Scope) => some.includes(scope)), roles }
}

export async function startApi(options: ApiOptions = {}) {
  const opened = await openTestPostgres()
  const driven = [HELLO, ...(options.agents ?? [])]
  const world = startWorld({ store: opened.store, agents: driven })
  const { intake } = world
  const readers = createCounter()
  const coordinator = countReaders(world.coordinator, readers)
  const errors: { readonly message: string; readonly fields: unknown }[] = []
  const log: Log = { ...silent, warn: note, error: note, with: () => log }
  function note(message: string, fields?: unknown): void {
    errors.push({ message, fields })
  }
  const feed = createFeed({ store: opened.store, coordinator, clock: systemClock, log })
  const agents = createRegistry([...driven, SUPPORT], (spec) => (typeof spec === 'string' ? scripted() : spec))
  const { development = false, authenticate = authenticateByHeader } = options
  const statements: string[] = []
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: opened.url }), log: [{ emit: 'event', level: 'query' }] })
  prisma.$on('query', ({ query }) => statements.push(query))
  const services: GraphqlServices = {
    ...{ prisma, store: opened.store, intake, feed, coordinator, agents, log, development },
    ...{ clock: options.clock ?? systemClock, ids: createIdSource() },
  }
  const server = createServer(createGraphqlHandler(services, { authenticate }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/graphql`

  return {
    ...{ url, store: opened.store, prisma, world, coordinator, feed, errors },
    /** Live subscriptions of events and of changes together. */
    readers,
    /** The SQL that the reading side has sent since this was last asked. */
    takeStatements: () => statements.splice(0),
    /** Asks as `caller`, see `authenticateByHeader`. */
    async as<Data>(caller: string | null, query: string, variables: object = {}): Promise<Answer<Data>> {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/graphql-response+json',
        ...(caller && { 'x-caller': caller }),
      }
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query, variables }) })
      return { status: response.status, ...((await response.json()) as object) } as Answer<Data>
    },
    async close(): Promise<void> {
      feed.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await world.stop()
      await coordinator.close()
      await prisma.$disconnect()
      await opened.close()
    },
  }
}

export interface Counter {
  readonly count: number
  add(more: number): void
  /** Resolves once it is so many. */
  until(count: number): Promise<void>
}

function createCounter(): Counter {
  let count = 0
  let changed = (): void => undefined
  return {
    get count() {
      return count
    },
    add(more) {
      count += more
      changed()
    },
    async until(wanted) {
      while (count !== wanted) await new Promise<void>((resolve) => (changed = resolve))
    },
  }
}

/** The same coordinator, with a count of who listens to it. */
function countReaders(coordinator: Coordinator, readers: Counter): Coordinator {
  const counted = (leave: () => void) => {
    readers.add(1)
    return () => {
      readers.add(-1)
      leave()
    }
  }
  return {
    ...coordinator,
    subscribe: async (sessionId, callback) => counted(await coordinator.subscribe(sessionId, callback)),
    onAnnounce: (callback) => counted(coordinator.onAnnounce(callback)),
  }
}

/** Sends as `caller` and gives the session, once `hello` is at rest again. */
export async function converse(api: Api, caller: string, texts: readonly string[], address = `test:${texts.join()}`): Promise<SessionId> {
  let sessionId: SessionId | null = null
  for (const text of texts) {
    const { data } = await api.as<{ send: { session: { id: SessionId } } }>(caller, SEND_TO_ADDRESS, { address, text })
    sessionId = data.send.session.id
    await api.world.untilRest(sessionId)
  }
  if (sessionId === null) throw new Error('nothing was said')
  return sessionId
}

const SEND_TO_ADDRESS = `mutation ($address: String!, $text: String!) {
  send(input: { to: { address: { address: $address, create: { agent: "hello" } } }, message: { text: $text } }) {
    ... on SendPayload { session { id } }
    ... on Problem { message }
  }
}`

const silent: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => silent,
}
