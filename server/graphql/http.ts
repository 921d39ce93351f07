/**
 * GraphQL over HTTP at /graphql: POST and GET, answers as JSON or, for subscriptions, as server-sent events. In a browser: GraphiQL.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createYoga } from 'graphql-yoga'
import { developmentPrincipal } from './access.js'
import type { Authenticate, Caller } from './caller.js'
import type { GraphqlContext, GraphqlServices } from './context.js'
import { toGraphqlError, unauthenticated } from './errors.js'
import { createSendEvents, type Opened } from './event-stream.js'
import { createGraphiql, isForBrowser } from './graphiql.js'
import { MAX_BODY_BYTES } from './limits.js'
import { isLoopback } from './loopback.js'
import { createOpenApprovals, type OpenApprovals } from './open-approvals.js'
import { keepSubscriptions, limitCost, requireJson, streamThroughProxies } from './plugins.js'
import { createContext } from './request.js'
import { buildSchema } from './schema.js'
import { createSharedEvents } from './shared-events.js'

export interface GraphqlHandlerOptions {
  /** Null: in development whoever is on this machine, otherwise nobody. */
  readonly authenticate: Authenticate | null
  /** Serve GraphiQL to browsers. Default: in development only. */
  readonly graphiql?: boolean
}

export type GraphqlHandler = (request: IncomingMessage, response: ServerResponse) => void

/** Other paths than /graphql are answered with 404. Never throws; starts nothing that has to be stopped. */
export function createGraphqlHandler(services: GraphqlServices, options: GraphqlHandlerOptions): GraphqlHandler {
  const { development, agents, log } = services
  const authenticate = options.authenticate ?? (development ? developmentPrincipal : () => null)
  const maskError = (thrown: unknown) => toGraphqlError(thrown, services)
  const sendEvents = createSendEvents(services.clock, maskError)
  const subscriptions = new WeakMap<Response, Opened>()
  const openApprovals = createOpenApprovals(services)
  const graphiql = (options.graphiql ?? development) ? createGraphiql(agents.names) : null
  const yoga = createYoga({
    schema: buildSchema(),
    graphqlEndpoint: '/graphql',
    graphiql: false,
    landingPage: false,
    multipart: false,
    logging: false,
    maxRequestBodySize: MAX_BODY_BYTES,
    cors: development ? corsOnThisMachine : false,
    maskedErrors: { maskError },
    context: ({ request }) => openRequest(request, authenticate, services, openApprovals),
    plugins: [requireJson(), limitCost(), keepSubscriptions(createSharedEvents(maskError), subscriptions), streamThroughProxies()],
  })

  /**
   * Sends the answer, or only its head when events follow. What read the request then stops to listen to it: it would hold the whole
   * body as long as they do.
   */
  async function ask(request: IncomingMessage, response: ServerResponse): Promise<Opened | undefined> {
    const heardBefore = new Set(request.eventNames())
    const answer = await yoga.handleNodeRequestAndResponse(request, response, {})
    const body = answer.body === null ? null : await answer.text()
    if (response.destroyed) return undefined
    const subscription = subscriptions.get(answer)
    response.writeHead(answer.status, answer.statusText, Object.fromEntries(answer.headers))
    if (subscription === undefined) response.end(body)
    else for (const name of request.eventNames()) if (!heardBefore.has(name)) request.removeAllListeners(name)
    return subscription
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path] = (request.url ?? '').split('?')
    if (graphiql !== null && path === '/graphql' && isForBrowser(request)) {
      await graphiql.serve(request, response)
      return
    }
    const subscription = await ask(request, response)
    if (subscription !== undefined) await sendEvents(subscription, response)
  }

  return (request, response) => {
    answer(request, response).catch((err: unknown) => {
      log.error('a request could not be answered', { err })
      response.destroy()
    })
  }
}

async function openRequest(
  request: Request,
  authenticate: Authenticate,
  services: GraphqlServices,
  openApprovals: OpenApprovals,
): Promise<GraphqlContext> {
  const caller = await authenticate(request)
  if (caller === null) throw unauthenticated()
  const { url, method, headers } = request
  // Without the body: it would be kept as long as a subscription that is asked again.
  const reauthenticate = async (): Promise<Caller | null> => authenticate(new Request(url, { method, headers }))
  return createContext(services, { caller, openApprovals, reauthenticate })
}

/** Pages from this machine, on whatever port, may ask; in production everything is same-origin, or behind a proxy that decides. */
function corsOnThisMachine(request: Request) {
  const origin = request.headers.get('origin')
  if (origin === null || !URL.canParse(origin) || !isLoopback(new URL(origin).hostname)) return false
  return {
    origin: [origin],
    credentials: false,
    methods: ['GET', 'POST'],
    allowedHeaders: ['content-type', 'authorization', 'x-perdure-principal'],
  }
}
