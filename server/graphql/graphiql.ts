/** GraphiQL, complete in one page: nothing of it comes from another host. It is made and packed at its first use, then kept. */
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

export interface Graphiql {
  /** Answers a request for which `isForBrowser` is true. */
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>
}

interface Page {
  readonly html: Buffer
  readonly packed: Buffer
  readonly etag: string
}

/** A person who opens the address, not a program that asks a question. */
export function isForBrowser({ method, headers, url = '' }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  return (headers.accept ?? '').includes('text/html') && !/[?&]query=/.test(url)
}

/** `agentNames`: one of them is talked to in the example. */
export function createGraphiql(agentNames: readonly string[]): Graphiql {
  let page: Promise<Page> | null = null
  return {
    async serve(request, response) {
      const { html, packed, etag } = await (page ??= makePage(agentNames))
      const headers = { etag, 'cache-control': 'no-cache', vary: 'accept, accept-encoding' }
      if (request.headers['if-none-match'] === etag) {
        response.writeHead(304, headers).end()
        return
      }
      const isPacked = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
      const body = isPacked ? packed : html
      response.writeHead(200, {
        ...headers,
        'content-type': 'text/html; charset=utf-8',
        'content-length': body.length,
        ...(isPacked && { 'content-encoding': 'gzip' }),
      })
      response.end(request.method === 'HEAD' ? undefined : body)
    },
  }
}

async function makePage(agentNames: readonly string[]): Promise<Page> {
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql')
  const agent = agentNames.includes('hello') ? 'hello' : (agentNames[0] ?? 'hello')
  const html = Buffer.from(
    renderGraphiQL({
      title: 'Perdure',
      favicon: `data:image/svg+xml,${encodeURIComponent(LOGO)}`,
      logo: LOGO,
      defaultTabs: [...defaultTabs(agent)].map((query) => ({ query })),
      subscriptionsProtocol: 'SSE',
      shouldPersistHeaders: true,
    }),
  )
  const etag = `"${createHash('sha256').update(html).digest('base64url').slice(0, 27)}"`
  return { html, etag, packed: await promisify(gzip)(html, { level: 9 }) }
}

const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="24" height="24" role="img" aria-label="Perdure"><path d="M4 12a8 8 0 1 1 8 8" fill="none" stroke="#6d5bd0" stroke-width="3" stroke-linecap="round"/><circle cx="12" cy="12" r="3" fill="#6d5bd0"/></svg>'

const ANSWER_REQUESTS = `# What waits for you? Answer it: ids go below.
query WhatWaits {
  inputRequests { nodes {
    id sessionId prompt toolCall { name input }
  } }
}
mutation Answer($session: ID!, $request: ID!) {
  respond(input: {
    session: { id: $session }, answers: [{
      requestId: $request, value: { decision: APPROVE }
  }] }) {
    ... on DeliveryPayload { session { status } }
    ... on Problem { code message }
  }
}
`

/** Each runs as it stands, from the first to the last; none needs an id from another. What answers a request takes its ids as variables. */
export function defaultTabs(agent: string): readonly string[] {
  return [
    `# Say hello: begins a session, or goes on with it.
mutation SayHello {
  send(input: {
    to: { address: {
      address: "graphiql:demo"
      create: { agent: ${JSON.stringify(agent)} }
    } }
    message: { text: "What can you do?" }
  }) {
    ... on SendPayload { created session { id status } }
    ... on Problem { code message }
  }
}
`,
    `# Watch it live. Say hello again meanwhile.
subscription WatchItLive {
  sessionEvents(
    session: { address: "graphiql:demo" }
    last: 50
  ) {
    ... on SessionEventsBatch {
      cursor caughtUp
      events { type at ... on LlmChunk { text } }
    }
    ... on Problem { code message }
  }
}
`,
    `# See what happened: turns, answers, times, tools.
query SeeWhatHappened {
  sessionByAddress(address: "graphiql:demo") {
    status usage { totalTokens }
    turns(last: 5) {
      nodes {
        number status userInput assistantOutput latencyMs
        toolCalls(first: 10) { nodes { name status } }
      }
    }
  }
}
`,
    ANSWER_REQUESTS,
    `# List sessions, newest first, ten at a time.
query ListSessions {
  sessions(first: 10, filter: { agent: [${JSON.stringify(agent)}] }) {
    nodes { id status title createdAt addresses }
    pageInfo { hasNextPage endCursor }
  }
}
`,
    `# What agents are there, and what can they do?
query WhatAgents {
  agents { name description model tools { name description } }
}
`,
  ]
}
