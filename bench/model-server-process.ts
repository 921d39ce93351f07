/** The process of model-server.ts. It keeps nothing but who was held, and parses no more than it must. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { z } from 'zod'
import { listen } from './listen.js'
import { SENTENCE, type ModelReport } from './model-server.js'

const Part = z.object({ text: z.string().optional() })
const Request = z.object({
  stream: z.boolean().optional(),
  messages: z.array(z.object({ role: z.string(), content: z.union([z.string(), z.array(Part)]).nullish() })),
})
type Message = z.infer<typeof Request>['messages'][number]
interface Call {
  readonly name: string
  readonly input: object
}

const held = new Set<string>()

function report(message: ModelReport): void {
  process.send?.(message)
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://model')
  if (pathname === '/charge') {
    charge(searchParams, response)
    return
  }
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk)
  const { messages, stream } = Request.parse(JSON.parse(text))
  const last = messages.findLastIndex(({ role }) => role === 'user')
  const [verb, what = ''] = textOf(messages[last]).split(' ')
  const done = messages.slice(last + 1).filter(({ role }) => role === 'tool').length
  if (verb === 'hold' && !held.has(what)) {
    hold(what, pidOf(messages))
    return
  }
  const reply = verb === 'steps' && done < Number(what) ? { name: 'echo', input: { text: `step ${done}` } } : null
  const call = verb === 'charge' && done === 0 ? { name: 'charge', input: { id: what } } : reply
  if (stream === true) writeStream(response, call)
  else response.setHeader('content-type', 'application/json').end(JSON.stringify(toAnswer(call)))
}

function charge(query: URLSearchParams, response: ServerResponse): void {
  const id = query.get('id') ?? ''
  report({ kind: 'charged', id })
  if (held.has(id)) response.end()
  else hold(id, Number(query.get('process')))
}

function hold(id: string, pid: number | null): void {
  held.add(id)
  report({ kind: 'held', id, pid })
}

function textOf(message: Message | undefined): string {
  const content = message?.content ?? ''
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

function pidOf(messages: readonly Message[]): number | null {
  const pid = /process (\d+)/.exec(textOf(messages.find(({ role }) => role === 'system')))?.[1]
  return pid === undefined ? null : Number(pid)
}

const FRAME = { id: 'chatcmpl-bench', created: 0, model: 'bench' }
const USAGE = { prompt_tokens: 10, completion_tokens: 8, total_tokens: 18 }

function toCalls({ name, input }: Call): readonly object[] {
  return [
    { index: 0, id: `call_${Math.random().toString(36).slice(2)}`, type: 'function', function: { name, arguments: JSON.stringify(input) } },
  ]
}

function toAnswer(call: Call | null): object {
  const message = { role: 'assistant', content: call === null ? SENTENCE : null, ...(call && { tool_calls: toCalls(call) }) }
  const choice = { index: 0, finish_reason: call === null ? 'stop' : 'tool_calls', message }
  return { ...FRAME, object: 'chat.completion', usage: USAGE, choices: [choice] }
}

/** A word an event, as models have it. */
function writeStream(response: ServerResponse, call: Call | null): void {
  const deltas =
    call === null ? SENTENCE.split(/(?<= )/).map((content) => ({ content })) : [{ role: 'assistant', tool_calls: toCalls(call) }]
  const frames = [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: call === null ? 'stop' : 'tool_calls' }] },
    { choices: [], usage: USAGE },
  ]
  response.setHeader('content-type', 'text/event-stream')
  const lines = frames.map((frame) => `data: ${JSON.stringify({ ...FRAME, object: 'chat.completion.chunk', ...frame })}\n\n`)
  response.end(`${lines.join('')}data: [DONE]\n\n`)
}

// Whoever asked is gone.
process.once('disconnect', () => process.exit())
const server = createServer((request, response) => {
  answer(request, response).catch((thrown: unknown) => {
    console.error(thrown)
    response.destroy()
  })
})
// Between two rounds nobody calls; a connection that is closed meanwhile would be a failed call.
server.keepAliveTimeout = 0
report({ kind: 'listening', url: (await listen(server)).origin })
