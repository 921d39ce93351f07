import { afterEach, expect, test } from 'vitest'
import { openaiChat } from '../../server/models/openai-chat.js'
import { openaiResponses } from '../../server/models/openai-responses.js'
import { ModelError, type ModelClient } from '../../server/session/model.js'
import { errorReply, startOpenAiServer, type OpenAiServer, type Reply } from '../support/openai-server.js'
import { chatEvent, toStream } from '../support/openai-wire.js'
import { readAnswer } from '../support/read-answer.js'

const API_KEY = 'sk-proj-abcdefghijklmnopqrstuvwxyz3fA'
let server: OpenAiServer | null = null
afterEach(() => server?.close())

const context = {
  message: "This model's maximum context length is 8192 tokens, yours is 9000.",
  type: 'invalid_request_error',
  code: 'context_length_exceeded',
}

test.each<readonly [string, Reply, { readonly code: string; readonly retryable: boolean; readonly says: RegExp }]>([
  [
    '401',
    errorReply(401, { message: `Incorrect API key provided: ${API_KEY}.`, code: 'invalid_api_key' }),
    { code: 'MODEL_UNAUTHENTICATED', retryable: false, says: /^127\.0\.0\.1:\d+ refused the key ending …3fA \(401 invalid_api_key\)/ },
  ],
  [
    '403',
    errorReply(403, { message: 'no access', code: 'model_not_available' }),
    { code: 'MODEL_UNAUTHENTICATED', retryable: false, says: /does not let the key ending …3fA use gpt-x/ },
  ],
  [
    '400',
    errorReply(400, { message: "Invalid schema for function 'f'", type: 'invalid_request_error', code: 'invalid_function_parameters' }),
    { code: 'MODEL_INVALID_REQUEST', retryable: false, says: /Invalid schema for function 'f'/ },
  ],
  ['422', errorReply(422, { message: 'unknown field' }), { code: 'MODEL_INVALID_REQUEST', retryable: false, says: /unknown field/ }],
  [
    '404 of a model',
    errorReply(404, { message: 'The model `gpt-x` does not exist', code: 'model_not_found' }),
    { code: 'MODEL_INVALID_REQUEST', retryable: false, says: /check the model name and the base URL/ },
  ],
  [
    '404 of a page',
    { status: 404, headers: { 'content-type': 'text/html' }, pieces: ['<html>not here</html>'] },
    { code: 'MODEL_INVALID_REQUEST', retryable: false, says: /\(404\); check the model name and the base URL/ },
  ],
  [
    '400 context_length_exceeded',
    errorReply(400, context),
    { code: 'CONTEXT_OVERFLOW', retryable: false, says: /does not fit the context window of gpt-x/ },
  ],
  [
    '400 of a server that has no code for it',
    errorReply(400, { message: 'the request exceeds the available context size' }),
    { code: 'CONTEXT_OVERFLOW', retryable: false, says: /compact or clear the session/ },
  ],
  ['413', errorReply(413, { message: 'too large' }), { code: 'CONTEXT_OVERFLOW', retryable: false, says: /413/ }],
  [
    '400 content_filter',
    errorReply(400, { message: 'flagged', code: 'content_filter' }),
    { code: 'MODEL_CONTENT_FILTERED', retryable: false, says: /rephrase the message/ },
  ],
  [
    '429',
    errorReply(429, { message: 'Rate limit reached', type: 'requests', code: 'rate_limit_exceeded' }),
    { code: 'MODEL_RATE_LIMITED', retryable: true, says: /429 rate_limit_exceeded: Rate limit reached/ },
  ],
  [
    '429 about tokens',
    errorReply(429, { message: 'too many tokens per minute' }),
    { code: 'MODEL_RATE_LIMITED', retryable: true, says: /limits the rate/ },
  ],
  [
    '429 insufficient_quota',
    errorReply(429, { message: 'You exceeded your current quota', code: 'insufficient_quota' }),
    { code: 'MODEL_RATE_LIMITED', retryable: false, says: /add credit/ },
  ],
  [
    '429 that says not to retry',
    errorReply(429, { message: 'no' }, { 'x-should-retry': 'false' }),
    { code: 'MODEL_RATE_LIMITED', retryable: false, says: /429: no/ },
  ],
  [
    '500',
    errorReply(500, { message: 'The server had an error', type: 'server_error' }),
    { code: 'MODEL_UNAVAILABLE', retryable: true, says: /500 server_error/ },
  ],
  ['503 with an empty body', { status: 503, headers: {}, pieces: [] }, { code: 'MODEL_UNAVAILABLE', retryable: true, says: /\(503\)/ }],
  [
    '502 of a proxy',
    { status: 502, headers: { 'content-type': 'text/html' }, pieces: ['<h1>Bad Gateway</h1>'] },
    { code: 'MODEL_UNAVAILABLE', retryable: true, says: /\(502\)/ },
  ],
  ['408', errorReply(408, { message: 'slow' }), { code: 'MODEL_UNAVAILABLE', retryable: true, says: /408/ }],
  [
    'an error in the stream',
    inStream({ message: 'The server had an error', type: 'server_error' }),
    { code: 'MODEL_UNAVAILABLE', retryable: true, says: /The server had an error/ },
  ],
  [
    'a rate limit in the stream',
    inStream({ message: 'slow down', code: 'rate_limit_exceeded' }),
    { code: 'MODEL_RATE_LIMITED', retryable: true, says: /slow down/ },
  ],
  [
    'a status as code in the stream',
    inStream({ message: 'upstream', code: 502 }),
    { code: 'MODEL_UNAVAILABLE', retryable: true, says: /502: upstream/ },
  ],
  ['an overflow in the stream', inStream(context), { code: 'CONTEXT_OVERFLOW', retryable: false, says: /maximum context length/ }],
  [
    'a wrong request in the stream',
    inStream({ message: 'bad', type: 'invalid_request_error' }),
    { code: 'MODEL_INVALID_REQUEST', retryable: false, says: /bad/ },
  ],
  [
    'an error that is a mere text',
    { pieces: ['data: {"error": "model is loading"}\n\n'] },
    { code: 'MODEL_UNAVAILABLE', retryable: true, says: /model is loading/ },
  ],
  [
    'an event named error',
    { pieces: ['event: error\ndata: {"message": "model crashed"}\n\n'] },
    { code: 'MODEL_UNAVAILABLE', retryable: true, says: /model crashed/ },
  ],
  ['an event that is not JSON', { pieces: ['data: {"choices": [\n\n'] }, { code: 'MODEL_UNAVAILABLE', retryable: true, says: /not JSON/ }],
  [
    'a response that is not a stream',
    { headers: { 'content-type': 'text/html' }, pieces: ['<html>welcome</html>'] },
    { code: 'MODEL_INVALID_REQUEST', retryable: false, says: /answered with text\/html instead of an event stream; check the base URL/ },
  ],
])('%s', async (_case, reply, expected) => {
  server = await startOpenAiServer(() => reply)
  for (const make of [openaiChat, openaiResponses]) {
    const error = await failureOf(make({ model: 'gpt-x', apiKey: API_KEY, baseUrl: server.baseUrl }))
    expect(error.failure).toMatchObject({ code: expected.code, retryable: expected.retryable })
    expect(error.message).toMatch(expected.says)
    expect(JSON.stringify(error.failure)).not.toContain('abcdefghijklm')
  }
})

test.each([
  ['failed', { type: 'response.failed', response: { error: { code: 'server_error', message: 'boom' } } }, 'MODEL_UNAVAILABLE', true],
  [
    'failed for a limit',
    { type: 'response.failed', response: { error: { code: 'rate_limit_exceeded', message: 'slow' } } },
    'MODEL_RATE_LIMITED',
    true,
  ],
  [
    'failed for its prompt',
    { type: 'response.failed', response: { error: { code: 'invalid_prompt', message: 'flagged' } } },
    'MODEL_CONTENT_FILTERED',
    false,
  ],
  ['an error event', { type: 'error', code: 'context_length_exceeded', message: 'too long', param: null }, 'CONTEXT_OVERFLOW', false],
  ['an error event without a code', { type: 'error', code: null, message: 'oops', param: null }, 'MODEL_UNAVAILABLE', true],
] as const)('a response that %s is classified by its code', async (_case, event, code, retryable) => {
  server = await startOpenAiServer(() => ({ pieces: [toStream([JSON.stringify(event)])] }))
  const error = await failureOf(openaiResponses({ model: 'gpt-x', apiKey: API_KEY, baseUrl: server.baseUrl }))
  expect(error.failure).toMatchObject({ code, retryable })
})

test.each([
  [{ 'retry-after': '2' }, 2000],
  [{ 'retry-after-ms': '1250' }, 1250],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT', date: 'Wed, 21 Oct 2026 07:28:00 GMT' }, 30_000],
  [{}, null],
] as const)('429 with %j carries how long to wait', async (headers, expected) => {
  server = await startOpenAiServer(() => errorReply(429, { message: 'slow down' }, headers))
  const error = await failureOf(openaiChat({ model: 'gpt-x', apiKey: API_KEY, baseUrl: server.baseUrl }))
  expect(error.retryAfterMs).toBe(expected)
})

test('a server that cannot be reached is named, with the cause', async () => {
  server = await startOpenAiServer(() => ({ pieces: [] }))
  const { baseUrl } = server
  await server.close()
  const error = await failureOf(openaiChat({ model: 'gpt-x', apiKey: API_KEY, baseUrl }))
  expect(error.failure).toMatchObject({ code: 'MODEL_UNAVAILABLE', retryable: true, details: { model: 'gpt-x' } })
  expect(error.message).toMatch(/^Can't reach 127\.0\.0\.1:\d+ \(connect ECONNREFUSED 127\.0\.0\.1:\d+\)/)
})

test('a key too short to be one is not shown at all', async () => {
  server = await startOpenAiServer(() => errorReply(401, { message: 'who are you?' }))
  const error = await failureOf(openaiChat({ model: 'gpt-x', apiKey: 'none', baseUrl: server.baseUrl }))
  expect(error.message).toContain('refused the key (a placeholder) (401)')
})

test('the request id of the provider is kept for its support', async () => {
  server = await startOpenAiServer(() => errorReply(500, { message: 'boom' }, { 'x-request-id': 'req_77' }))
  const error = await failureOf(openaiChat({ model: 'gpt-x', apiKey: API_KEY, baseUrl: server.baseUrl }))
  expect(error.failure.details).toMatchObject({ status: 500, requestId: 'req_77' })
})

function inStream(error: object): Reply {
  return { pieces: [toStream([chatEvent({ content: 'Once' }), JSON.stringify({ error })])] }
}

async function failureOf(client: ModelClient): Promise<ModelError> {
  const thrown: unknown = await readAnswer(client).then(
    () => null,
    (error: unknown) => error,
  )
  if (thrown instanceof ModelError) return thrown
  throw new Error('expected a ModelError', { cause: thrown })
}
