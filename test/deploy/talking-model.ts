/** A model server that talks until it is told to come to an end, and knows which process asks: each has a key of its own. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { findFreePort } from '../support/server-process.js'
import { WIRE_USAGE, chatEvent, chatUsageEvent, toStream } from '../support/openai-wire.js'

/** Messages that begin with it are answered word by word until `finish`; all others at once. */
export const TALK = 'talk'
const BETWEEN_WORDS_MS = 100

const requestSchema = z.object({ messages: z.array(z.object({ role: z.string(), content: z.unknown() })) })

export class TalkingModel {
  readonly baseUrl: string
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch(() => response.destroy())
  })
  readonly #asked = new Map<string, string[]>()
  readonly #finished = new Set<string>()

  private constructor(port: number) {
    this.baseUrl = `http://127.0.0.1:${port}/v1`
  }

  static async start(): Promise<TalkingModel> {
    const port = await findFreePort()
    const model = new TalkingModel(port)
    model.#server.listen(port, '127.0.0.1')
    await once(model.#server, 'listening')
    return model
  }

  /** The keys with which it was asked about this message, in order. */
  askedAbout(text: string): readonly string[] {
    return this.#asked.get(text) ?? []
  }

  /** Answers to this message come to their end, those that begin later too. */
  finish(text: string): void {
    this.#finished.add(text)
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await readLastMessage(request)
    const key = (request.headers.authorization ?? '').replace('Bearer ', '')
    this.#asked.set(text, [...(this.#asked.get(text) ?? []), key])
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let said = 0; text.startsWith(TALK) && !this.#finished.has(text); said += 1) {
      if (response.destroyed) return
      response.write(toStream([chatEvent({ content: `word ${said} ` })]))
      await wait(BETWEEN_WORDS_MS)
    }
    response.end(toStream([chatEvent({ content: `you said: ${text}` }), chatEvent({}, 'stop'), chatUsageEvent(WIRE_USAGE), '[DONE]']))
  }
}

async function readLastMessage(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(Buffer.from(piece))
  const { messages } = requestSchema.parse(JSON.parse(Buffer.concat(pieces).toString()))
  return String(messages.at(-1)?.content)
}
