import { afterEach, expect, test } from 'vitest'
import { openaiChat } from '../../server/models/openai-chat.js'
import { startOpenAiServer, type OpenAiServer } from '../support/openai-server.js'
import { toChatEvents, toStream } from '../support/openai-wire.js'
import { readAnswer } from '../support/read-answer.js'
import { sampleRequest } from '../support/sample-request.js'

let server: OpenAiServer | null = null
afterEach(() => server?.close())

test('the request carries instructions, the history under our call ids, the tools, and asks for usage', async () => {
  server = await startOpenAiServer(() => ({ pieces: [toStream(toChatEvents({ text: 'Hello.' }))] }))
  const request = sampleRequest()
  await readAnswer(
    openaiChat({ model: 'gpt-x', apiKey: 'secret', baseUrl: server.baseUrl, maxOutputTokens: 99, reasoningEffort: 'low' }),
    request,
  )
  const [first, second] = request.history[1]?.role === 'assistant' ? request.history[1].calls.map((call) => call.id) : []
  expect(server.requests[0]).toMatchObject({ path: '/v1/chat/completions', headers: { authorization: 'Bearer secret' } })
  expect(server.requests[0]?.body).toEqual({
    model: 'gpt-x',
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 99,
    reasoning_effort: 'low',
    messages: [
      { role: 'system', content: 'You are a weather clerk.' },
      { role: 'user', content: 'What is the weather in Zürich and in Oslo?' },
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [
          { id: first, type: 'function', function: { name: 'get_weather', arguments: '{"city":"Zürich"}' } },
          { id: second, type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } },
        ],
      },
      { role: 'tool', tool_call_id: first, content: '21 °C' },
      { role: 'tool', tool_call_id: second, content: 'no such city' },
      { role: 'assistant', content: 'Zürich has' },
      { role: 'user', content: 'And now?' },
    ],
    tools: [
      {
        type: 'function',
        function: { name: 'get_weather', description: 'The weather in a city.', parameters: request.tools[0]?.inputSchema },
      },
    ],
  })
})

test('OpenAI itself is told the cache key, not to store, and the limit under its new name', async () => {
  const bodies: unknown[] = []
  const fetch = (_url: unknown, init?: RequestInit) => {
    bodies.push(typeof init?.body === 'string' ? JSON.parse(init.body) : null)
    return Promise.resolve(new Response(toStream(toChatEvents({ text: 'Hello.' })), { headers: { 'content-type': 'text/event-stream' } }))
  }
  await readAnswer(openaiChat({ model: 'gpt-x', apiKey: 'secret', fetch, maxOutputTokens: 99 }))
  expect(bodies[0]).toMatchObject({ store: false, prompt_cache_key: 'ses_sample', max_completion_tokens: 99 })
  expect(bodies[0]).not.toHaveProperty('max_tokens')
})

test('without tools, instructions and limits nothing of them is sent', async () => {
  server = await startOpenAiServer(() => ({ pieces: [toStream(toChatEvents({ text: 'Hello.' }))] }))
  const request = sampleRequest({ tools: [], instructions: '', history: [{ role: 'user', text: 'Hi' }] })
  await readAnswer(openaiChat({ model: 'gpt-x', apiKey: 'secret', baseUrl: server.baseUrl }), request)
  expect(server.requests[0]?.body).toEqual({
    model: 'gpt-x',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'Hi' }],
  })
})

test('a name that the model made up goes back in a form that every provider takes', async () => {
  server = await startOpenAiServer(() => ({ pieces: [toStream(toChatEvents({ text: 'Hello.' }))] }))
  const sample = sampleRequest()
  const history = sample.history.map((item) =>
    item.role === 'assistant' ? { ...item, calls: item.calls.map((call) => ({ ...call, name: 'functions.get weather' })) } : item,
  )
  await readAnswer(openaiChat({ model: 'gpt-x', apiKey: 'secret', baseUrl: server.baseUrl }), { ...sample, history })
  expect(JSON.stringify(server.requests[0]?.body)).toContain('"name":"functions_get_weather"')
})
