import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { scripted, scriptedFailure } from '../../server/models/scripted.js'
import { toWords } from '../../server/models/word-count.js'
import type { HistoryItem } from '../../server/session/history.js'
import { createFakeClock } from '../support/fake-clock.js'
import { readAnswer } from '../support/read-answer.js'
import { sampleRequest } from '../support/sample-request.js'

const says = (text: string) => sampleRequest({ history: [{ role: 'user', text }] })

test('a script that returns a text streams it word by word, with counted usage', async () => {
  const { chunks } = await readAnswer(
    scripted(() => 'Once upon a'),
    says('Tell me a story'),
  )
  expect(chunks).toEqual([
    { type: 'text', key: 'text', text: 'Once ' },
    { type: 'text', key: 'text', text: 'upon ' },
    { type: 'text', key: 'text', text: 'a' },
    {
      type: 'usage',
      usage: { promptTokens: 9, completionTokens: 3, cacheTokens: 0, reasoningTokens: 0, costUsd: null, incomplete: false },
    },
    { type: 'finish', reason: 'STOP' },
  ])
})

test('tokensPerChunk makes larger pieces', async () => {
  const textsOf = async (tokensPerChunk: number) => {
    const { chunks } = await readAnswer(scripted(() => 'one two three four five', { tokensPerChunk }))
    return chunks.flatMap((chunk) => (chunk.type === 'text' ? [chunk.text] : []))
  }
  expect(await textsOf(2)).toEqual(['one two ', 'three four ', 'five'])
  expect(await textsOf(Infinity)).toEqual(['one two three four five'])
})

test('pieces make up the text, whatever it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 5 }), (text, size) => {
      const words = toWords(text, size)
      expect(words.join('')).toBe(text)
      expect(words).not.toContain('')
    }),
  )
})

test('a script sees the conversation: the newest message, the step, the results of the step before', async () => {
  const request = sampleRequest()
  const seen: unknown[] = []
  const model = scripted(({ lastUserText, step, toolResults, userMessages, instructions, tools }) => {
    seen.push({
      lastUserText,
      step,
      results: toolResults.map((result) => result.text),
      userMessages,
      instructions,
      tools: tools.map((tool) => tool.name),
    })
    return 'Yes.'
  })
  await readAnswer(model, request)
  await readAnswer(model, { ...request, history: request.history.slice(0, 4) })
  await readAnswer(model, { ...request, history: [] })
  const common = { instructions: 'You are a weather clerk.', tools: ['get_weather'] }
  expect(seen).toEqual([
    { lastUserText: 'And now?', step: 0, results: [], userMessages: 2, ...common },
    { lastUserText: 'What is the weather in Zürich and in Oslo?', step: 1, results: ['21 °C', 'no such city'], userMessages: 1, ...common },
    { lastUserText: '', step: 0, results: [], userMessages: 0, ...common },
  ])
})

test('an answer in parts is one answer: keys of its calls stay apart, the last finish counts', async () => {
  const model = scripted(async function* ({ wait }) {
    yield 'Let me '
    yield { text: 'look.', calls: [{ name: 'f', input: { a: 1 } }] }
    await wait(0)
    yield { calls: [{ name: 'g' }], finish: 'LENGTH' }
  })
  expect(await readAnswer(model)).toMatchObject({
    text: 'Let me look.',
    calls: [
      { name: 'f', raw: '{"a":1}' },
      { name: 'g', raw: '{}' },
    ],
    finish: 'LENGTH',
  })
})

describe('time', () => {
  test('without a delay an answer takes no timer at all', async () => {
    const clock = { now: () => 0, monotonic: () => 0, after: () => expect.unreachable('a timer was started') }
    expect((await readAnswer(scripted(() => 'Once upon a time', { clock }))).finish).toBe('STOP')
  })

  test('with a delay each piece waits for it', async () => {
    const clock = createFakeClock(0)
    const arrivals: number[] = []
    const reading = (async () => {
      for await (const chunk of scripted(() => 'one two three', { clock, delayMs: 30 }).stream(says('x'), {
        signal: new AbortController().signal,
      })) {
        if (chunk.type === 'text') arrivals.push(clock.now())
      }
    })()
    await clock.advance(100)
    await reading
    expect(arrivals).toEqual([30, 60, 90])
  })

  test('an abort ends a wait, and leaves no timer behind', async () => {
    const clock = createFakeClock()
    const controller = new AbortController()
    const reading = readAnswer(
      scripted(
        async ({ wait }) => {
          await wait(60_000)
          return 'never'
        },
        { clock },
      ),
      says('x'),
      controller.signal,
    )
    const reason = new Error('cancelled')
    controller.abort(reason)
    await expect(reading).rejects.toBe(reason)
    expect(clock.pending).toBe(0)
  })
})

describe('failures', () => {
  test.each([
    ['MODEL_RATE_LIMITED', true],
    ['MODEL_UNAVAILABLE', true],
    ['MODEL_EMPTY_RESPONSE', true],
    ['MODEL_UNAUTHENTICATED', false],
    ['CONTEXT_OVERFLOW', false],
  ])('a script throws %s, retryable: %s', async (code, retryable) => {
    const model = scripted(() => {
      throw scriptedFailure(code, { retryAfterMs: 5 })
    })
    await expect(readAnswer(model)).rejects.toMatchObject({ failure: { code, retryable }, retryAfterMs: 5 })
  })

  test('a script may fail at first and then answer', async () => {
    let calls = 0
    const model = scripted(() => {
      calls += 1
      if (calls === 1) throw scriptedFailure('MODEL_UNAVAILABLE')
      return 'Here I am.'
    })
    await expect(readAnswer(model)).rejects.toMatchObject({ failure: { code: 'MODEL_UNAVAILABLE' } })
    expect((await readAnswer(model)).text).toBe('Here I am.')
  })

  test('a fault of the script is named, and not retried', async () => {
    const model = scripted(
      () => {
        throw new TypeError('x is not a function')
      },
      { name: 'clerk' },
    )
    await expect(readAnswer(model)).rejects.toMatchObject({
      failure: { code: 'INTERNAL', retryable: false, message: 'the script of the model "clerk" threw: x is not a function' },
    })
  })
})

describe('without a script', () => {
  test('it echoes, and says how to get further', async () => {
    const { text } = await readAnswer(scripted(), says('Hello there'))
    expect(text).toContain('You said: Hello there')
    expect(text).toContain('OPENAI_API_KEY')
    expect(text).toContain('get_weather {}')
  })

  test('a message that begins with the name of a tool calls it, and the result is told', async () => {
    expect((await readAnswer(scripted(), says('get_weather {"city": "Oslo"}'))).calls).toEqual([
      { name: 'get_weather', raw: '{"city": "Oslo"}' },
    ])
    expect((await readAnswer(scripted(), says('get_weather please'))).calls).toEqual([{ name: 'get_weather', raw: '{}' }])
    const history: readonly HistoryItem[] = sampleRequest().history.slice(0, 4)
    expect((await readAnswer(scripted(), sampleRequest({ history }))).text).toBe(
      'get_weather answered: 21 °C\nget_weather failed: no such city',
    )
  })
})
