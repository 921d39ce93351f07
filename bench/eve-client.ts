/** The least that talks to eve over HTTP: keep-alive, and one stream a session (newline-delimited JSON), opened again when it ends. */
import { Agent, request, type IncomingMessage } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { SIMPLE } from './agent.js'
import type { Speaker } from './speaker.js'
import { createWatch } from './watch.js'

const Created = z.object({ sessionId: z.string() })
const Event = z.object({ type: z.string() })
/** Said while the session is still busy with parking: the message was not taken. */
const NotReady = z.object({ code: z.literal('session_not_ready') })
const RETRY_MS = 10
const REOPEN_MS = 20

export interface EveSpeaker extends Speaker {
  /** Does not wait for the turn. */
  send(text: string): Promise<void>
  /** Resolves with the next event. */
  heard(): Promise<void>
}
export interface EveClient {
  /** A session with one turn behind it: eve makes none without a message. */
  open(): Promise<EveSpeaker>
  close(): void
}

export function createEveClient(url: string): EveClient {
  const agent = new Agent({ keepAlive: true })

  function ask(method: 'GET' | 'POST', path: string, body: object | null): Promise<IncomingMessage> {
    const text = body === null ? '' : JSON.stringify(body)
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    return new Promise((resolve, reject) => {
      request(`${url}${path}`, { method, agent, headers: body === null ? {} : headers }, resolve)
        .on('error', reject)
        .end(text)
    })
  }

  async function post(path: string, message: string): Promise<unknown> {
    for (;;) {
      const response = await ask('POST', path, { message })
      const answer = await readJson(response)
      if (NotReady.safeParse(answer).success) await wait(RETRY_MS)
      else if (response.statusCode === 200 || response.statusCode === 202) return answer
      else throw new Error(`eve answered ${response.statusCode ?? 0}: ${JSON.stringify(answer)}`)
    }
  }

  async function open(): Promise<EveSpeaker> {
    const watch = createWatch()
    const listeners = new Set<() => void>()
    let stream: Stream | null = null
    await watch.during(async () => {
      const { sessionId } = Created.parse(await post('/eve/v1/session', SIMPLE))
      stream = openStream((start) => ask('GET', `/eve/v1/session/${sessionId}/stream?startIndex=${start}`, null), sessionId, hear)
    })
    const path = `/eve/v1/session/${idOf(stream)}`
    const send = async (text: string): Promise<void> => {
      await post(path, text)
    }

    function hear(type: string): void {
      watch.hear([{ type: NAMES.get(type) ?? 'STEP_STARTED' }])
      for (const listener of listeners) listener()
      listeners.clear()
    }
    return {
      send,
      heard: () => new Promise((resolve) => listeners.add(resolve)),
      say: (text) => watch.during(() => send(text)),
      close: () => stream?.close(),
    }
  }
  return { open, close: () => agent.destroy() }
}

/** What ends a turn, by our names; every other event only counts as one. */
const NAMES: ReadonlyMap<string, 'SESSION_WAITING' | 'TURN_FAILED'> = new Map([
  ['session.waiting', 'SESSION_WAITING'],
  ['turn.failed', 'TURN_FAILED'],
  ['session.failed', 'TURN_FAILED'],
])

interface Stream {
  readonly sessionId: string
  close(): void
}

function idOf(stream: Stream | null): string {
  if (stream === null) throw new Error('eve has made no session')
  return stream.sessionId
}

function openStream(ask: (start: number) => Promise<IncomingMessage>, sessionId: string, hear: (type: string) => void): Stream {
  const left = new AbortController()
  const { signal } = left
  let seen = 0

  async function follow(): Promise<void> {
    const response = await ask(seen)
    signal.addEventListener('abort', () => response.destroy(), { once: true })
    for await (const line of linesOf(response)) {
      seen += 1
      hear(Event.parse(JSON.parse(line)).type)
    }
  }

  async function keepFollowing(): Promise<void> {
    // Its server may be gone: the stream is opened again where it was.
    while (!signal.aborted) {
      await follow().catch(() => undefined)
      await wait(REOPEN_MS)
    }
  }
  void keepFollowing()
  return { sessionId, close: () => left.abort() }
}

async function* linesOf(response: IncomingMessage): AsyncGenerator<string, void> {
  if (response.statusCode !== 200) {
    response.resume()
    return
  }
  let rest = ''
  for await (const chunk of response.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    // Lines that steer the connection carry no type.
    yield* lines.filter((line) => line.includes('"type"'))
  }
}

async function readJson(response: IncomingMessage): Promise<unknown> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk)
  return text === '' ? null : JSON.parse(text)
}
