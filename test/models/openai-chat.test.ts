import { afterEach, describe, expect, test } from 'vitest'
import { openaiChat } from '../../server/models/openai-chat.js'
import type { OpenAiOptions } from '../../server/models/openai-connection.js'
import { startOpenAiServer, type OpenAiServer, type Reply } from '../support/openai-server.js'
import { chatEvent, chatUsageEvent, toStream, WIRE_USAGE } from '../support/openai-wire.js'
import { readAnswer } from '../support/read-answer.js'

let server: OpenAiServer | null = null
afterEach(() => server?.close())

async function readEvents(events: readonly string[]): ReturnType<typeof readAnswer> {
  return readReply({ pieces: [toStream(events)] })
}
async function readReply(reply: Reply, options: Partial<OpenAiOptions> = {}): ReturnType<typeof readAnswer> {
  server = await startOpenAiServer(() => reply)
  return readAnswer(openaiChat({ model: 'gpt-x', apiKey: 'secret', baseUrl: server.baseUrl, ...options }))
}

describe('the servers out there', () => {
  const hello = chatEvent({ content: 'Hello.' })
  const stop = chatEvent({}, 'stop')
  const noChoices = JSON.stringify({ choices: [], prompt_filter_results: [] })

  test('an event without choices is no answer and no fault', async () => {
    expect(await readEvents([noChoices, hello, noChoices, stop, noChoices, '[DONE]'])).toMatchObject({
      text: 'Hello.',
      finish: 'STOP',
      usage: null,
    })
  })

  test('of several usages the last counts', async () => {
    const early = chatUsageEvent({ ...WIRE_USAGE, completionTokens: 1 })
    expect((await readEvents([hello, early, stop, chatUsageEvent(WIRE_USAGE), '[DONE]'])).usage).toEqual(WIRE_USAGE)
  })

  test('usage may come with the last piece, and lack its details', async () => {
    const last = JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 5, completion_tokens: 0 } })
    expect((await readEvents([hello, last])).usage).toEqual({
      promptTokens: 5,
      completionTokens: 0,
      cacheTokens: null,
      reasoningTokens: null,
      costUsd: null,
      incomplete: false,
    })
  })

  test('a count that is missing makes the usage incomplete', async () => {
    const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 5 } })
    expect((await readEvents([hello, stop, usage])).usage).toMatchObject({ promptTokens: 5, completionTokens: null, incomplete: true })
  })

  test('[DONE] is not needed, the reason to finish is', async () => {
    expect((await readEvents([hello, stop])).finish).toBe('STOP')
    await server?.close()
    await expect(readEvents([hello, '[DONE]'])).rejects.toMatchObject({ failure: { code: 'MODEL_UNAVAILABLE', retryable: true } })
  })

  test('an answer whose connection breaks after its reason to finish is whole', async () => {
    expect(await readReply({ pieces: [toStream([hello, stop])], then: 'cut' })).toMatchObject({ text: 'Hello.', finish: 'STOP' })
  })

  test.each([
    ['reasoning_content', { reasoning_content: 'Hm.' }],
    ['reasoning', { reasoning: 'Hm.' }],
  ])('reasoning under the name %s', async (_name, delta) => {
    expect((await readEvents([chatEvent(delta), hello, stop])).reasoning).toBe('Hm.')
  })

  test('fields of a wrong type are passed over', async () => {
    const odd = JSON.stringify({
      choices: [{ delta: { content: 7, tool_calls: 'none', refusal: null }, finish_reason: null }],
      usage: 'none',
    })
    const odder = JSON.stringify({ choices: [null, { delta: null }] })
    expect((await readEvents([odd, odder, hello, stop])).text).toBe('Hello.')
  })

  test('other choices than the first are passed over', async () => {
    const second = JSON.stringify({ choices: [{ index: 1, delta: { content: 'Second.' }, finish_reason: 'length' }] })
    expect(await readEvents([second, hello, second, stop])).toMatchObject({ text: 'Hello.', finish: 'STOP' })
  })

  test('the old reason function_call, and stop after a call, are TOOL_CALLS; tool_calls without one is STOP', async () => {
    const call = chatEvent({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }] })
    for (const [events, finish] of [
      [[call, chatEvent({}, 'function_call')], 'TOOL_CALLS'],
      [[call, stop], 'TOOL_CALLS'],
      [[hello, chatEvent({}, 'tool_calls')], 'STOP'],
    ] as const) {
      expect((await readEvents(events)).finish).toBe(finish)
      await server?.close()
    }
  })

  test('a model that thinks up to its limit and says nothing is not asked again', async () => {
    await expect(readEvents([chatEvent({ reasoning: 'Hm…' }), chatEvent({}, 'length')])).rejects.toMatchObject({
      failure: { code: 'MODEL_EMPTY_RESPONSE', retryable: false, message: expect.stringContaining('raise maxOutputTokens') },
    })
  })
})

describe('calls are told apart', () => {
  const expected = [
    { name: 'f', raw: '{"a":1}' },
    { name: 'g', raw: '{"b":2}' },
  ]

  test.each([
    [
      'by index, interleaved',
      [
        { index: 0, id: 'x', function: { name: 'f', arguments: '{"a"' } },
        { index: 1, id: 'y', function: { name: 'g', arguments: '{"b"' } },
        { index: 0, function: { arguments: ':1}' } },
        { index: 1, function: { arguments: ':2}' } },
      ],
    ],
    [
      'by index, without ids',
      [
        { index: 0, function: { name: 'f', arguments: '{"a":1}' } },
        { index: 1, function: { name: 'g' } },
        { index: 1, function: { arguments: '{"b":2}' } },
      ],
    ],
    [
      'by index, name and id in every piece',
      [
        { index: 0, id: 'x', function: { name: 'f', arguments: '{"a"' } },
        { index: 0, id: 'x', function: { name: 'f', arguments: ':1}' } },
        { index: 1, id: 'y', function: { name: 'g', arguments: '{"b":2}' } },
      ],
    ],
    [
      'by index, arguments before the name',
      [
        { index: 0, id: 'x', function: { arguments: '{"a"' } },
        { index: 0, function: { name: 'f', arguments: ':1}' } },
        { index: 1, id: 'y', function: { name: 'g', arguments: '{"b":2}' } },
      ],
    ],
    [
      'by index from 1',
      [
        { index: 1, id: 'x', function: { name: 'f', arguments: '{"a":1}' } },
        { index: 2, id: 'y', function: { name: 'g', arguments: '{"b":2}' } },
      ],
    ],
    [
      'by id, the same index for all',
      [
        { index: 0, id: 'x', function: { name: 'f', arguments: '{"a":1}' } },
        { index: 0, id: 'y', function: { name: 'g', arguments: '{"b"' } },
        { index: 0, function: { arguments: ':2}' } },
      ],
    ],
    [
      'by id, without an index',
      [
        { id: 'x', function: { name: 'f', arguments: '{"a"' } },
        { id: 'y', function: { name: 'g', arguments: '{"b"' } },
        { id: 'x', function: { arguments: ':1}' } },
        { id: 'y', function: { arguments: ':2}' } },
      ],
    ],
    [
      'by the next name, without index and id',
      [
        { function: { name: 'f', arguments: '{"a"' } },
        { function: { arguments: ':1}' } },
        { function: { name: 'g', arguments: '{"b":2}' } },
      ],
    ],
    [
      'with arguments that are an object',
      [
        { index: 0, id: 'x', function: { name: 'f', arguments: { a: 1 } } },
        { index: 1, id: 'y', function: { name: 'g', arguments: { b: 2 } } },
      ],
    ],
  ])('%s', async (_case, parts) => {
    const one = parts.map((part) => chatEvent({ tool_calls: [part] }))
    expect(await readEvents([...one, chatEvent({}, 'tool_calls')])).toMatchObject({ calls: expected, finish: 'TOOL_CALLS' })
    await server?.close()
    expect(await readEvents([chatEvent({ tool_calls: parts }, 'tool_calls')])).toMatchObject({ calls: expected, finish: 'TOOL_CALLS' })
  })

  test('arguments that are missing, null or empty are a call all the same', async () => {
    const parts = [
      { index: 0, id: 'x', function: { name: 'f' } },
      { index: 1, id: 'y', function: { name: 'g', arguments: null } },
      { index: 2, id: 'z', function: { name: 'h', arguments: '' } },
    ]
    const answer = await readEvents([...parts.map((part) => chatEvent({ tool_calls: [part] })), chatEvent({}, 'tool_calls')])
    expect(answer.calls).toEqual(['f', 'g', 'h'].map((name) => ({ name, raw: '' })))
  })
})

test('a base URL that is none is refused at once', () => {
  for (const baseUrl of ['localhost:11434/v1', 'not a url', 'ftp://host/v1']) {
    expect(() => openaiChat({ model: 'm', apiKey: 'k', baseUrl })).toThrow(
      `The base URL "${baseUrl}" of the model is not an http or https URL.`,
    )
  }
})
