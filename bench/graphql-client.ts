/** The least that talks GraphQL over HTTP as the SDK does, with its documents: keep-alive, and one stream a session. */
import { Agent, request, type IncomingMessage } from 'node:http'
import { z } from 'zod'
import { CreateSessionDocument, ListInputRequestsDocument, SendDocument, SessionEventsDocument } from '../sdk/generated/documents.js'
import { storedId, type SessionId } from '../server/ids.js'
import { EVENT_TYPES } from '../server/session/events.js'

const Created = z.object({ data: z.object({ createSession: z.object({ session: z.object({ id: z.string() }) }) }) })
const Sent = z.object({ data: z.object({ send: z.object({ __typename: z.literal('SendPayload') }) }) })
const Queue = z.object({ data: z.object({ inputRequests: z.object({ nodes: z.array(z.object({ id: z.string() })) }) }) })
const Next = z.object({
  data: z.object({ sessionEvents: z.object({ events: z.array(z.object({ type: z.enum(EVENT_TYPES) })), caughtUp: z.boolean() }) }),
})
export type Batch = z.infer<typeof Next>['data']['sessionEvents']

export interface GraphqlClient {
  create(agent: string): Promise<SessionId>
  /** Resolves with the answer. Throws when the message was not accepted. */
  send(sessionId: SessionId, text: string): Promise<void>
  /** Calls back for each batch; resolves once the first has come, that is, when the stream is live. */
  follow(sessionId: SessionId, onBatch: (batch: Batch) => void): Promise<{ close(): void }>
  /** The whole log, as it is now; answers the number of events. */
  replay(sessionId: SessionId): Promise<number>
  /** The beginning of what the caller may answer; answers the number of requests. */
  readQueue(first: number): Promise<number>
  close(): void
}

export function createGraphqlClient(url: URL): GraphqlClient {
  const agent = new Agent({ keepAlive: true })

  function post(body: object, accept: string): Promise<IncomingMessage> {
    const text = JSON.stringify(body)
    const headers = { 'content-type': 'application/json', accept, 'content-length': Buffer.byteLength(text) }
    return new Promise((resolve, reject) => {
      request(url, { method: 'POST', agent, headers }, resolve).on('error', reject).end(text)
    })
  }
  const subscribe = (sessionId: SessionId, follow: boolean): Promise<IncomingMessage> =>
    post({ query: SessionEventsDocument, variables: { session: { id: sessionId }, follow } }, 'text/event-stream')

  async function ask(body: object): Promise<unknown> {
    const response = await post(body, 'application/graphql-response+json')
    let answer = ''
    for await (const chunk of response.setEncoding('utf8')) answer += String(chunk)
    return JSON.parse(answer)
  }

  return {
    async create(agent) {
      const { data } = Created.parse(await ask({ query: CreateSessionDocument, variables: { input: { session: { agent } } } }))
      return storedId('ses', data.createSession.session.id)
    },
    async send(sessionId, text) {
      Sent.parse(await ask({ query: SendDocument, variables: { input: { to: { session: sessionId }, message: { text } } } }))
    },
    async follow(sessionId, onBatch) {
      const response = await subscribe(sessionId, true)
      const close = (): void => void response.destroy()
      return new Promise((resolve, reject) => {
        readBatches(response, (batch) => {
          onBatch(batch)
          resolve({ close })
        })
        response.once('close', () => reject(new Error('a stream ended before its first batch')))
      })
    },
    async replay(sessionId) {
      const response = await subscribe(sessionId, false)
      let events = 0
      readBatches(response, (batch) => (events += batch.events.length))
      await new Promise((resolve) => response.once('close', resolve))
      return events
    },
    async readQueue(first) {
      const { data } = Queue.parse(await ask({ query: ListInputRequestsDocument, variables: { first } }))
      return data.inputRequests.nodes.length
    },
    close: () => agent.destroy(),
  }
}

const DATA = 'data: '

/** Server-sent events: blocks of lines, an empty line behind each. A break of the stream, as `close` makes it, is its end. */
function readBatches(response: IncomingMessage, onBatch: (batch: Batch) => void): void {
  let rest = ''
  response.setEncoding('utf8')
  response.on('error', () => undefined)
  response.on('data', (chunk: string) => {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith(DATA))
      if (!block.startsWith('event: next') || data === undefined) continue
      const next = Next.safeParse(JSON.parse(data.slice(DATA.length)))
      // An error: the server stops, or refuses; either way no batch follows.
      if (next.success) onBatch(next.data.data.sessionEvents)
      else response.destroy()
    }
  })
}
