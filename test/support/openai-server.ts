/**
 * An OpenAI-compatible server of our own, on a free port: says byte for byte what a test tells it to, and tells what became of
 * each request on its side.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Reply {
  /** Default: 200. */
  readonly status?: number
  /** Default: an event stream. */
  readonly headers?: OutgoingHttpHeaders
  /** Sent in these pieces, each a chunk of HTTP of its own. */
  readonly pieces: readonly (string | Uint8Array)[]
  /** What follows: the proper end (default), the same in a packet of its own, a destroyed socket, or silence with the socket open. */
  readonly then?: 'end' | 'late-end' | 'cut' | 'silence'
}
export interface ReceivedRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
  /** The client's port: the same for requests that came over one connection. */
  readonly port: number | undefined
  /** How the exchange ended, seen from the server: answered in full, or closed by somebody before that. */
  readonly ended: Promise<'answered' | 'closed'>
}
export interface OpenAiServer {
  /** Up to and with `/v1`. */
  readonly baseUrl: string
  readonly requests: readonly ReceivedRequest[]
  close(): Promise<void>
}

export async function startOpenAiServer(respond: (request: ReceivedRequest) => Reply | Promise<Reply>): Promise<OpenAiServer> {
  const requests: ReceivedRequest[] = []
  const server = createServer((message, response) => {
    void answer(message, response).catch((fault: unknown) => response.destroy(fault instanceof Error ? fault : undefined))
  })
  async function answer(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const ended = once(response, 'close').then(() => (response.writableFinished ? ('answered' as const) : ('closed' as const)))
    const request = {
      path: message.url ?? '',
      headers: message.headers,
      body: await readJson(message),
      port: message.socket.remotePort,
      ended,
    }
    requests.push(request)
    await send(response, await respond(request))
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    baseUrl: `http://127.0.0.1:${portOf(server.address())}/v1`,
    requests,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** An error as OpenAI gives it. */
export function errorReply(status: number, error: object, headers: OutgoingHttpHeaders = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, pieces: [JSON.stringify({ error })] }
}

async function readJson(message: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = []
  for await (const piece of message) pieces.push(Buffer.from(piece))
  return JSON.parse(Buffer.concat(pieces).toString())
}

async function send(response: ServerResponse, reply: Reply): Promise<void> {
  response.writeHead(reply.status ?? 200, reply.headers ?? { 'content-type': 'text/event-stream' })
  for (const piece of reply.pieces) await write(response, piece)
  if (reply.then === 'silence') return
  if (reply.then === 'late-end') await new Promise((resolve) => setTimeout(resolve, 5))
  if (reply.then !== 'cut') response.end()
  else response.socket?.end(() => response.destroy())
}

/** Resolves when the piece has left: what is written at once would go out as one. */
function write(response: ServerResponse, piece: string | Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve)
    response.write(piece, () => {
      response.off('close', resolve)
      resolve()
    })
  })
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port')
  return address.port
}
