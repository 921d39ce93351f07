import { afterEach, describe, expect, test } from 'vitest'
import { openaiChat } from '../../server/models/openai-chat.js'
import type { OpenAiOptions } from '../../server/models/openai-connection.js'
import { openaiResponses } from '../../server/models/openai-responses.js'
import { isRecord } from '../../server/models/loose-json.js'
import { createFakeClock } from '../support/fake-clock.js'
import { startOpenAiServer, type OpenAiServer, type Reply } from '../support/openai-server.js'
import {
  chatContentEvents,
  chatEvent,
  responsesContentEvents,
  toChatEvents,
  toResponsesEvents,
  toStream,
  WIRE_USAGE,
} from '../support/openai-wire.js'
import { answeringFetch, everyBytes, slicingFetch } from '../support/slicing-fetch.js'
import { readAnswer } from '../support/read-answer.js'
import { sampleRequest } from '../support/sample-request.js'

let server: OpenAiServer | null = null
afterEach(() => server?.close())

async function serve(reply: Reply): Promise<Pick<OpenAiOptions, 'model' | 'apiKey' | 'baseUrl'> & { readonly baseUrl: string }> {
  server = await startOpenAiServer(() => reply)
  return { model: 'gpt-x', apiKey: 'none', baseUrl: server.baseUrl }
}

const calls = [
  { name: 'get_weather', raw: '{"city":"Zürich"}' },
  { name: 'get_time', raw: '{"in":"東京"}' },
]
const answer = { reasoning: 'Hm…', text: 'Grüße 👋', calls, usage: WIRE_USAGE }
const read = { reasoning: 'Hm…', text: 'Grüße 👋', calls, usage: WIRE_USAGE, finish: 'TOOL_CALLS' }
const streams = [
  {
    protocol: 'Chat Completions',
    make: openaiChat,
    whole: toChatEvents(answer),
    short: toChatEvents({ text: 'ü👋' }),
    begun: chatContentEvents(answer),
  },
  {
    protocol: 'Responses',
    make: openaiResponses,
    whole: toResponsesEvents(answer),
    short: toResponsesEvents({ text: 'ü👋' }),
    begun: responsesContentEvents(answer),
  },
] as const

describe.each(streams)('$protocol', ({ make, whole, begun, short }) => {
  test.each([
    ['LF', toStream(whole)],
    ['CRLF', toStream(whole).replaceAll('\n', '\r\n')],
    ['comments between', whole.map((event) => `: keep-alive\n\ndata: ${event}\n\n`).join('')],
    ['data of several lines', whole.map((event) => `data: ${event.replace(/,"/, ',\ndata: "')}\n\n`).join('')],
  ])('every byte may come alone (%s)', async (_case, stream) => {
    const client = make({ ...(await serve({ pieces: [stream] })), fetch: slicingFetch(everyBytes(1)) })
    expect(await readAnswer(client)).toMatchObject(read)
  })

  test('a cut at any byte changes nothing', async () => {
    const bytes = new TextEncoder().encode(toStream(short).replaceAll('\n', '\r\n'))
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const fetch = answeringFetch([bytes.slice(0, cut), bytes.slice(cut)])
      const client = make({ model: 'gpt-x', apiKey: 'none', baseUrl: 'http://model.test/v1', fetch })
      expect(await readAnswer(client), `cut at ${cut}`).toMatchObject({ text: 'ü👋', finish: 'STOP' })
    }
  })

  test('broken off anywhere, an answer is whole or a failure that may pass, never half of it', async () => {
    const bytes = new TextEncoder().encode(toStream(whole))
    const end = new TextEncoder().encode(toStream(begun)).length
    server = await startOpenAiServer(({ body }) => ({
      pieces: [bytes.subarray(0, isRecord(body) ? Number(body['model']) : 0)],
      then: 'cut',
    }))
    for (let cut = 0; cut < end; cut += 61) {
      const client = make({ model: String(cut), apiKey: 'none', baseUrl: server.baseUrl })
      await expect(readAnswer(client), `cut at ${cut}`).rejects.toMatchObject({ failure: { code: 'MODEL_UNAVAILABLE', retryable: true } })
    }
  })

  test('a server that falls silent is given up, however long it spoke before', async () => {
    const clock = createFakeClock()
    const client = make({ ...(await serve({ pieces: [toStream(begun)], then: 'silence' })), idleTimeoutMs: 1000, clock })
    const reading = (async () => {
      for await (const chunk of client.stream(sampleRequest(), { signal: new AbortController().signal })) {
        await clock.advance(900)
        if (chunk.type === 'tool-input' && chunk.text.endsWith('}')) setImmediate(() => void clock.advance(1000))
      }
    })()
    await expect(reading).rejects.toMatchObject({ failure: { code: 'MODEL_UNAVAILABLE', retryable: true } })
    await expect(reading).rejects.toThrow('sent nothing of its answer for 1 s')
    expect(await server?.requests[0]?.ended).toBe('closed')
  })

  test('a server that never answers is given up', async () => {
    const clock = createFakeClock()
    server = await startOpenAiServer(() => {
      void clock.advance(1000)
      return new Promise(() => undefined)
    })
    const client = make({ model: 'gpt-x', apiKey: 'none', baseUrl: server.baseUrl, idleTimeoutMs: 1000, clock })
    await expect(readAnswer(client)).rejects.toMatchObject({ failure: { code: 'MODEL_UNAVAILABLE', retryable: true } })
    expect(await server.requests[0]?.ended).toBe('closed')
  })

  test('aborting closes the socket of the server', async () => {
    const client = make(await serve({ pieces: [toStream(begun)], then: 'silence' }))
    const controller = new AbortController()
    const reason = new Error('cancelled')
    const reading = (async () => {
      for await (const chunk of client.stream(sampleRequest(), { signal: controller.signal })) {
        if (chunk.type === 'text') controller.abort(reason)
      }
    })()
    await expect(reading).rejects.toBe(reason)
    expect(await server?.requests[0]?.ended).toBe('closed')
  })

  test('aborting before the first byte closes the socket of the server', async () => {
    const controller = new AbortController()
    const reason = new Error('cancelled')
    server = await startOpenAiServer(() => {
      controller.abort(reason)
      return new Promise(() => undefined)
    })
    const client = make({ model: 'gpt-x', apiKey: 'none', baseUrl: server.baseUrl })
    await expect(readAnswer(client, sampleRequest(), controller.signal)).rejects.toBe(reason)
    expect(await server.requests[0]?.ended).toBe('closed')
  })

  test('a consumer that stops reading closes the socket of the server', async () => {
    const client = make(await serve({ pieces: [toStream(begun)], then: 'silence' }))
    for await (const chunk of client.stream(sampleRequest(), { signal: new AbortController().signal })) {
      expect(chunk.type).toBe('reasoning')
      break
    }
    expect(await server?.requests[0]?.ended).toBe('closed')
  })

  test('connections are used again', async () => {
    const client = make(await serve({ pieces: [toStream(whole)], then: 'late-end' }))
    for (let count = 0; count < 8; count += 1) await readAnswer(client)
    // Two and not one: a connection is free again a moment after its answer has ended.
    expect(new Set(server?.requests.map((request) => request.port)).size).toBeLessThanOrEqual(2)
  })

  test('a finished answer does not wait for a server that keeps the response open', async () => {
    const client = make(await serve({ pieces: [toStream(whole)], then: 'silence' }))
    expect((await readAnswer(client)).finish).toBe('TOOL_CALLS')
    expect(await server?.requests[0]?.ended).toBe('closed')
  })
})

test('a line of 10 MB is read in time that grows with its length only', async () => {
  const text = 'x'.repeat(10 * 1024 * 1024)
  const client = openaiChat(await serve({ pieces: [toStream([chatEvent({ content: text }), chatEvent({}, 'stop')])] }))
  const startedAt = performance.now()
  expect((await readAnswer(client)).text.length).toBe(text.length)
  expect(performance.now() - startedAt).toBeLessThan(2_000)
})

test('comments alone do not keep a call alive for ever', async () => {
  const clock = createFakeClock()
  let comments = 0
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        comments += 1
        await clock.advance(900)
        if (comments > 20) controller.close()
        else controller.enqueue(new TextEncoder().encode(': still here\n\n'))
      },
    },
    { highWaterMark: 0 },
  )
  const fetch = () => Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
  const client = openaiChat({ model: 'gpt-x', apiKey: 'none', baseUrl: 'http://model.test/v1', fetch, clock, idleTimeoutMs: 1000 })
  await expect(readAnswer(client)).rejects.toThrow('sent nothing of its answer')
  expect(comments).toBe(6)
})

test('a slow reader is not taken for a silent server', async () => {
  const clock = createFakeClock()
  const client = openaiChat({
    ...(await serve({ pieces: [toStream(toChatEvents({ text: 'Once upon a time' }))] })),
    fetch: slicingFetch(everyBytes(64)),
    clock,
    idleTimeoutMs: 1000,
  })
  let text = ''
  for await (const chunk of client.stream(sampleRequest(), { signal: new AbortController().signal })) {
    if (chunk.type === 'text') text += chunk.text
    await clock.advance(10_000)
  }
  expect(text).toBe('Once upon a time')
})
