import { afterEach, describe, expect, test } from 'vitest'
import { openaiResponses } from '../../server/models/openai-responses.js'
import { startOpenAiServer, type OpenAiServer } from '../support/openai-server.js'
import { toResponsesEvents, toStream, WIRE_USAGE } from '../support/openai-wire.js'
import { readAnswer } from '../support/read-answer.js'
import { sampleRequest } from '../support/sample-request.js'

let server: OpenAiServer | null = null
afterEach(() => server?.close())

const answer = {
  reasoning: 'Hm.',
  text: 'Let me look.',
  calls: [
    { name: 'f', raw: '{"a":1}' },
    { name: 'g', raw: '' },
  ],
}
const read = { reasoning: 'Hm.', text: 'Let me look.', calls: answer.calls, finish: 'TOOL_CALLS', usage: WIRE_USAGE }

async function readEvents(events: readonly string[]): ReturnType<typeof readAnswer> {
  server = await startOpenAiServer(() => ({ pieces: [toStream(events)] }))
  return readAnswer(openaiResponses({ model: 'gpt-x', apiKey: 'secret', baseUrl: server.baseUrl }))
}

describe('what servers leave out does not matter', () => {
  test.each([
    ['nothing', /^$/],
    ['the deltas', /^\{"type":"response\.\w+\.delta"/],
    ['the finished items', /output_item\.done/],
    ['everything but the last event', /output_item|\.delta"/],
  ])('%s', async (_case, left) => {
    expect(await readEvents(toResponsesEvents(answer).filter((event) => !left.test(event)))).toMatchObject(read)
  })

  test('the numbers of the items', async () => {
    const events = toResponsesEvents(answer).map((event) => event.replaceAll(/"output_index":\d+,/g, ''))
    expect(await readEvents(events)).toMatchObject(read)
  })

  test('the output of the last event', async () => {
    const events = toResponsesEvents(answer).map((event) => event.replace(/"output":\[.*\],"usage"/, '"usage"'))
    expect(await readEvents(events)).toMatchObject(read)
  })
})

test('two messages of one answer are two blocks', async () => {
  const message = (index: number, text: string) => [
    JSON.stringify({ type: 'response.output_text.delta', output_index: index, content_index: 0, delta: text }),
    JSON.stringify({
      type: 'response.output_item.done',
      output_index: index,
      item: { type: 'message', content: [{ type: 'output_text', text }] },
    }),
  ]
  const last = JSON.stringify({ type: 'response.completed', response: { status: 'completed' } })
  const { chunks } = await readEvents([...message(0, 'One.'), ...message(1, 'Two.'), last])
  expect(chunks).toEqual([
    { type: 'text', key: '0/0', text: 'One.' },
    { type: 'text', key: '1/0', text: 'Two.' },
    { type: 'finish', reason: 'STOP' },
  ])
})

test('reasoning text of open models is reasoning', async () => {
  const thought = JSON.stringify({ type: 'response.reasoning_text.delta', output_index: 7, content_index: 0, delta: 'Thinking' })
  expect((await readEvents([thought, ...toResponsesEvents({ text: 'Hello.' })])).reasoning).toBe('Thinking')
})

test('events and items of kinds we do not know are passed over', async () => {
  const unknown = [
    JSON.stringify({ type: 'response.queued', response: { status: 'queued' } }),
    JSON.stringify({ type: 'response.output_item.added', output_index: 9, item: { type: 'web_search_call' } }),
    JSON.stringify({ type: 'keepalive' }),
  ]
  expect((await readEvents([...unknown, ...toResponsesEvents({ text: 'Hello.' })])).text).toBe('Hello.')
})

test('the request stores nothing and carries the cache key, the history under our call ids, and the tools', async () => {
  server = await startOpenAiServer(() => ({ pieces: [toStream(toResponsesEvents({ text: 'Hello.' }))] }))
  const request = sampleRequest()
  const options = { maxOutputTokens: 99, reasoningEffort: 'low', reasoningSummary: 'auto' } as const
  await readAnswer(openaiResponses({ model: 'gpt-x', apiKey: 'secret', baseUrl: server.baseUrl, ...options }), request)
  const [first, second] = request.history[1]?.role === 'assistant' ? request.history[1].calls.map((call) => call.id) : []
  expect(server.requests[0]).toMatchObject({ path: '/v1/responses', headers: { authorization: 'Bearer secret' } })
  expect(server.requests[0]?.body).toEqual({
    model: 'gpt-x',
    stream: true,
    store: false,
    prompt_cache_key: 'ses_sample',
    max_output_tokens: 99,
    reasoning: { effort: 'low', summary: 'auto' },
    instructions: 'You are a weather clerk.',
    input: [
      { role: 'user', content: 'What is the weather in Zürich and in Oslo?' },
      { role: 'assistant', content: 'Let me look.' },
      { type: 'function_call', call_id: first, name: 'get_weather', arguments: '{"city":"Zürich"}' },
      { type: 'function_call', call_id: second, name: 'get_weather', arguments: '{"city":"Oslo"}' },
      { type: 'function_call_output', call_id: first, output: '21 °C' },
      { type: 'function_call_output', call_id: second, output: 'no such city' },
      { role: 'assistant', content: 'Zürich has' },
      { role: 'user', content: 'And now?' },
    ],
    tools: [
      {
        type: 'function',
        name: 'get_weather',
        description: 'The weather in a city.',
        parameters: request.tools[0]?.inputSchema,
        strict: false,
      },
    ],
  })
})
