/** What every ModelClient promises, whatever is behind it. A backend's test hands in how to make its provider behave. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ModelError, type ModelChunk, type ModelClient, type ModelRequest } from '../../server/session/model.js'
import { readAnswer } from '../support/read-answer.js'
import { sampleRequest } from '../support/sample-request.js'
import { WIRE_USAGE, type WireAnswer } from '../support/openai-wire.js'

/** How the provider behaves: it gives this answer, then ends it, breaks it off, or falls silent before its end. */
export interface Behaviour extends WireAnswer {
  readonly then?: 'end' | 'cut' | 'silence'
  /** Instead of an answer: too many calls, and how long to wait. */
  readonly rateLimitedMs?: number
}
export interface ModelBackend {
  /** A client whose provider behaves so at every call. */
  client(behaviour: Behaviour): ModelClient
  close(): Promise<void>
}

export function modelClientConformance(name: string, open: () => Promise<ModelBackend>): void {
  describe(`${name} is a ModelClient`, () => {
    let backend: ModelBackend
    beforeAll(async () => {
      backend = await open()
    })
    afterAll(() => backend.close())
    const read = (behaviour: Behaviour, request?: ModelRequest) => readAnswer(backend.client(behaviour), request)

    answers(read)
    failures(read)
    aborts((behaviour) => backend.client(behaviour))
  })
}

type Read = (behaviour: Behaviour, request?: ModelRequest) => ReturnType<typeof readAnswer>

function answers(read: Read): void {
  test('text comes in pieces that make up the whole', async () => {
    const text = 'Grüße aus 東京 👩‍🚀, and\nfarewell.'
    const answer = await read({ text })
    expect(answer.text).toBe(text)
    expect(answer.chunks.filter((chunk) => chunk.type === 'text').length).toBeGreaterThan(1)
  })

  test('finish comes last and once, after the usage', async () => {
    const { chunks } = await read({ text: 'Hello.', usage: WIRE_USAGE })
    expect(chunks.slice(-2)).toEqual([
      { type: 'usage', usage: WIRE_USAGE },
      { type: 'finish', reason: 'STOP' },
    ])
    expect(chunks.filter((chunk) => chunk.type === 'finish')).toHaveLength(1)
  })

  test('a usage that was not reported is absent, never zero', async () => {
    expect((await read({ text: 'Hello.', usage: null })).usage).toBeNull()
  })

  test('reasoning comes apart from the text, before it', async () => {
    const answer = await read({ reasoning: 'They greet me.', text: 'Hello.' })
    expect(answer).toMatchObject({ reasoning: 'They greet me.', text: 'Hello.' })
    expect(answer.chunks[0]?.type).toBe('reasoning')
  })

  test('parallel calls are told apart, arguments as they were written', async () => {
    const calls = [
      { name: 'get_weather', raw: '{"city": "Zürich"}' },
      { name: 'get_weather', raw: '{"city": "Oslo"}' },
      { name: 'get_time', raw: '{}' },
    ]
    const answer = await read({ text: 'Let me look.', calls })
    expect(answer).toMatchObject({ text: 'Let me look.', calls, finish: 'TOOL_CALLS' })
  })

  test('a call without arguments is a call', async () => {
    expect(await read({ calls: [{ name: 'get_time', raw: '' }] })).toMatchObject({
      calls: [{ name: 'get_time', raw: '' }],
      finish: 'TOOL_CALLS',
    })
  })

  test.each(['{"city": "Zür', 'not JSON at all', '[1, 2'])('arguments that do not parse come as they are: %s', async (raw) => {
    expect((await read({ calls: [{ name: 'get_weather', raw }] })).calls).toEqual([{ name: 'get_weather', raw }])
  })

  test('an answer cut by the output limit in the middle of arguments says LENGTH and keeps them raw', async () => {
    const calls = [{ name: 'get_weather', raw: '{"city": "Zü' }]
    expect(await read({ calls, finish: 'LENGTH' })).toMatchObject({ calls, finish: 'LENGTH' })
  })

  test('a refusal is its text and its own reason', async () => {
    expect(await read({ refusal: 'I cannot help with that.', finish: 'REFUSAL' })).toMatchObject({
      text: 'I cannot help with that.',
      finish: 'REFUSAL',
    })
  })

  test.each([{ text: 'Once upon' }, {}])('a filtered answer says so, with text or without', async (begun) => {
    expect(await read({ ...begun, finish: 'CONTENT_FILTER' })).toMatchObject({ text: begun.text ?? '', finish: 'CONTENT_FILTER' })
  })

  test('an unknown reason to finish is OTHER', async () => {
    expect((await read({ text: 'Hello.', finish: 'OTHER' })).finish).toBe('OTHER')
  })

  test('a history with every kind of item is taken', async () => {
    expect((await read({ text: 'Hello.' }, sampleRequest())).finish).toBe('STOP')
  })
}

function failures(read: Read): void {
  test('an answer with neither text nor calls is a failure that may pass', async () => {
    expect(await failureOf(read({}))).toMatchObject({ failure: { code: 'MODEL_EMPTY_RESPONSE', retryable: true } })
  })

  test('an answer that breaks off is a failure that may pass, after what was streamed', async () => {
    const error = await failureOf(read({ text: 'Once upon a time', then: 'cut' }))
    expect(error).toMatchObject({ failure: { code: 'MODEL_UNAVAILABLE', retryable: true } })
  })

  test('a rate limit tells how long to wait', async () => {
    const error = await failureOf(read({ rateLimitedMs: 1500 }))
    expect(error).toMatchObject({ failure: { code: 'MODEL_RATE_LIMITED', retryable: true }, retryAfterMs: 1500 })
  })
}

function aborts(client: (behaviour: Behaviour) => ModelClient): void {
  test('a signal that was aborted before: the reason is thrown, nothing is streamed', async () => {
    const reason = new Error('cancelled before')
    await expect(readAnswer(client({ text: 'Hello.' }), sampleRequest(), AbortSignal.abort(reason))).rejects.toBe(reason)
  })

  test('aborting while the provider is silent throws the reason', async () => {
    const controller = new AbortController()
    const reason = new Error('cancelled meanwhile')
    const seen: ModelChunk[] = []
    const reading = (async () => {
      for await (const chunk of client({ text: 'Once upon', then: 'silence' }).stream(sampleRequest(), { signal: controller.signal })) {
        seen.push(chunk)
        if (textOf(seen) === 'Once upon') queueMicrotask(() => controller.abort(reason))
      }
    })()
    await expect(reading).rejects.toBe(reason)
    expect(seen.every((chunk) => chunk.type === 'text')).toBe(true)
  })

  test('a consumer may stop reading', async () => {
    for await (const chunk of client({ text: 'Once upon', then: 'silence' }).stream(sampleRequest(), {
      signal: new AbortController().signal,
    })) {
      expect(chunk.type).toBe('text')
      break
    }
  })

  test('calls of one client at once do not mix', async () => {
    const one = client({ text: 'The same answer, twice.' })
    const both = await Promise.all([readAnswer(one), readAnswer(one)])
    expect(both.map((answer) => answer.text)).toEqual(['The same answer, twice.', 'The same answer, twice.'])
  })
}

function textOf(chunks: readonly ModelChunk[]): string {
  return chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('')
}

async function failureOf(reading: Promise<unknown>): Promise<ModelError> {
  const thrown: unknown = await reading.then(
    () => null,
    (error: unknown) => error,
  )
  if (thrown instanceof ModelError) return thrown
  throw new Error('expected a ModelError', { cause: thrown })
}
