import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSseParser, readSse, type SseEvent } from '../../sdk/sse.js'

const TEXT =
  ': hello\n\nevent: next\ndata: {"a":1}\n\ndata: first\ndata: second\r\n\r\nid: 7\nevent:next\rdata:naïve 🚀\r\revent: complete\n\ndata: cut off'
const EVENTS: readonly SseEvent[] = [
  { event: 'next', data: '{"a":1}' },
  { event: 'message', data: 'first\nsecond' },
  { event: 'next', data: 'naïve 🚀' },
  { event: 'complete', data: '' },
]

function toBody(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
}

async function readAll(pieces: readonly Uint8Array[]): Promise<readonly SseEvent[]> {
  const events: SseEvent[] = []
  for await (const event of readSse(toBody(pieces), { idleTimeoutMs: 1_000, onIdle: () => new Error('idle') })) events.push(event)
  return events
}

describe('the event stream reader', () => {
  it('reads LF, CR and CRLF, comments, several data lines and a name without data, and drops what was cut off', async () => {
    expect(await readAll([new TextEncoder().encode(TEXT)])).toEqual(EVENTS)
  })

  it('reads the same wherever the bytes are cut, also inside a character or a CRLF', async () => {
    const bytes = new TextEncoder().encode(TEXT)
    const cuts = fc.uniqueArray(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 })
    await fc.assert(
      fc.asyncProperty(cuts, async (places) => {
        const edges = [0, ...places.sort((a, b) => a - b), bytes.length]
        const pieces = edges.slice(1).map((edge, at) => bytes.slice(edges[at], edge))
        expect(await readAll(pieces)).toEqual(EVENTS)
      }),
    )
    for (const size of [1, 2, 3]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.slice(at * size, (at + 1) * size))
      expect(await readAll(pieces)).toEqual(EVENTS)
    }
  })

  it('keeps the text of a value but for one leading space', () => {
    expect(createSseParser().feed('data:  two : colons \n\n')).toEqual([{ event: 'message', data: ' two : colons ' }])
  })

  it('refuses a line, and an event of many lines, beyond the limit', () => {
    expect(() => createSseParser(10).feed('data: 0123456789')).toThrow('longer than 10')
    const parser = createSseParser(10)
    parser.feed('data: 12345\n')
    expect(() => parser.feed('data: 67890\ndata: 1')).toThrow('longer than 10')
  })

  it('gives up a body that falls silent, and lets go of it', async () => {
    let cancelled = false
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('data: one\n\n')),
      cancel: () => void (cancelled = true),
    })
    const events = readSse(body, { idleTimeoutMs: 20, onIdle: () => new Error('silent') })
    expect((await events.next()).value).toEqual({ event: 'message', data: 'one' })
    await expect(events.next()).rejects.toThrow('silent')
    expect(cancelled).toBe(true)
  })
})
