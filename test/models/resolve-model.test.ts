import { afterEach, expect, test } from 'vitest'
import { PerdureError } from '../../server/errors.js'
import { resolveModel, type ModelSettings } from '../../server/models/resolve-model.js'
import { scripted } from '../../server/models/scripted.js'
import { startOpenAiServer, type OpenAiServer } from '../support/openai-server.js'
import { toChatEvents, toResponsesEvents, toStream } from '../support/openai-wire.js'
import { readAnswer } from '../support/read-answer.js'

const UNSET: ModelSettings = { openaiApiKey: undefined, openaiBaseUrl: undefined }
let server: OpenAiServer | null = null
afterEach(() => server?.close())

test('a client is taken as it is', () => {
  const client = scripted()
  expect(resolveModel(client, UNSET)).toBe(client)
})

test.each(['openai/gpt-5', 'openai-chat/gpt-5', 'openai-responses/gpt-5'])('%s keeps its name', (spec) => {
  expect(resolveModel(spec, { ...UNSET, openaiApiKey: 'sk-x' }).name).toBe(spec)
})

test('openai without a model means the one of the settings', () => {
  expect(resolveModel('openai', { ...UNSET, openaiApiKey: 'sk-x', openaiModel: 'gpt-5' }).name).toBe('openai/gpt-5')
})

test('a model name may hold slashes', () => {
  expect(resolveModel('openai/meta-llama/llama-3', { ...UNSET, openaiBaseUrl: 'http://localhost:1/v1' }).name).toBe(
    'openai/meta-llama/llama-3',
  )
})

test.each([
  ['openai/m', '/v1/chat/completions'],
  ['openai-chat/m', '/v1/chat/completions'],
  ['openai-responses/m', '/v1/responses'],
])('%s at another base URL speaks the right protocol, without a key', async (spec, path) => {
  server = await startOpenAiServer((request) => ({
    pieces: [toStream(request.path.endsWith('responses') ? toResponsesEvents({ text: 'Hello.' }) : toChatEvents({ text: 'Hello.' }))],
  }))
  expect((await readAnswer(resolveModel(spec, { ...UNSET, openaiBaseUrl: server.baseUrl }))).text).toBe('Hello.')
  expect(server.requests[0]).toMatchObject({ path, headers: { authorization: 'Bearer none' } })
})

test.each([
  [
    'openai/gpt-5',
    { ...UNSET, agent: 'clerk' },
    'Agent "clerk" wants openai/gpt-5, but OPENAI_API_KEY is not set. Set it, or use model: scripted() to stay offline.',
    'echo OPENAI_API_KEY=sk-… >> .env',
  ],
  [
    'openai/gpt-5',
    { ...UNSET, openaiApiKey: '' },
    'An agent wants openai/gpt-5, but OPENAI_API_KEY is not set.',
    'echo OPENAI_API_KEY=sk-… >> .env',
  ],
  [
    'openai/gpt-5',
    { ...UNSET, openaiBaseUrl: 'https://eu.api.openai.com/v1' },
    'but OPENAI_API_KEY is not set',
    'echo OPENAI_API_KEY=sk-… >> .env',
  ],
  ['openai', { ...UNSET, openaiApiKey: 'sk-x' }, 'names no model; write openai/<model>, or set OPENAI_MODEL', 'openai/gpt-5'],
  ['openai/', { ...UNSET, openaiApiKey: 'sk-x' }, 'names no model', 'openai/gpt-5'],
  ['opneai/gpt-5', UNSET, 'there is no provider "opneai"; providers here: openai, openai-chat, openai-responses, scripted', 'openai/gpt-5'],
  [
    'openai/m',
    { ...UNSET, openaiBaseUrl: 'localhost:11434' },
    'The base URL "localhost:11434" of the model is not an http or https URL',
    'OPENAI_BASE_URL=http://localhost:11434/v1',
  ],
] as const)('%s with %j is refused, with the mend', (spec, settings, message, hint) => {
  const refuse = () => resolveModel(spec, settings)
  expect(refuse).toThrow(PerdureError)
  expect(refuse).toThrow(expect.objectContaining({ code: 'MODEL_NOT_CONFIGURED', hint, message: expect.stringContaining(message) }))
})

test('scripted is the offline model', async () => {
  expect((await readAnswer(resolveModel('scripted', UNSET))).text).toContain('You said')
})
