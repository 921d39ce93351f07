import { describe, expect, test } from 'vitest'
import { EventDecoder, type ServerEvent } from '../../server/models/event-stream.js'

const cases: readonly { readonly claim: string; readonly stream: string; readonly events: readonly ServerEvent[] }[] = [
  { claim: 'lines end in LF', stream: 'data: one\n\ndata: two\n\n', events: [unnamed('one'), unnamed('two')] },
  { claim: 'lines end in CRLF', stream: 'data: one\r\n\r\ndata: two\r\n\r\n', events: [unnamed('one'), unnamed('two')] },
  { claim: 'lines end in CR', stream: 'data: one\r\rdata: two\r\r', events: [unnamed('one'), unnamed('two')] },
  { claim: 'line ends are mixed', stream: 'data: one\r\n\ndata: two\n\r\n', events: [unnamed('one'), unnamed('two')] },
  { claim: 'comments are no events', stream: ': keep-alive\n\n:\n\ndata: one\n: inside\n\n', events: [unnamed('one')] },
  { claim: 'data of several lines is joined', stream: 'data: {"a":\ndata: 1}\n\n', events: [unnamed('{"a":\n1}')] },
  {
    claim: 'the space after the colon is optional, a second one counts',
    stream: 'data:one\n\ndata:  two\n\n',
    events: [unnamed('one'), unnamed(' two')],
  },
  { claim: 'events have names', stream: 'event: error\ndata: x\n\ndata: y\n\n', events: [{ name: 'error', data: 'x' }, unnamed('y')] },
  { claim: 'other fields and unknown ones are passed over', stream: 'id: 7\nretry: 10\nodd\ndata: one\n\n', events: [unnamed('one')] },
  { claim: 'an event without data is none', stream: 'event: ping\n\ndata: one\n\n', events: [unnamed('one')] },
  { claim: 'empty data is data', stream: 'data\n\ndata:\n\n', events: [unnamed(''), unnamed('')] },
  { claim: 'the last event needs no blank line', stream: 'data: one\n\ndata: [DONE]', events: [unnamed('one'), unnamed('[DONE]')] },
  { claim: 'a byte order mark is passed over', stream: '\uFEFFdata: one\n\n', events: [unnamed('one')] },
  { claim: 'characters of two, three and four bytes', stream: 'data: é 東京 👩‍🚀\r\n\r\n', events: [unnamed('é 東京 👩‍🚀')] },
]

describe.each(cases)('$claim', ({ stream, events }) => {
  const bytes = new TextEncoder().encode(stream)

  test('in one piece', () => {
    expect(decode([bytes])).toEqual(events)
  })

  test('cut at every byte', () => {
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(decode([bytes.subarray(0, cut), bytes.subarray(cut)]), `cut at ${cut}`).toEqual(events)
    }
  })

  test('byte by byte', () => {
    expect(decode(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(events)
  })
})

test('an event comes out as soon as its blank line is there', () => {
  const decoder = new EventDecoder()
  expect(decoder.push(new TextEncoder().encode('data: one\n'))).toEqual([])
  expect(decoder.push(new TextEncoder().encode('\n'))).toEqual([unnamed('one')])
  expect(decoder.push(new TextEncoder().encode('data: two\r\n\r'))).toEqual([unnamed('two')])
  expect(decoder.push(new TextEncoder().encode('\ndata: three\n\n'))).toEqual([unnamed('three')])
})

test('an event over the cap is refused, in one line or in many', () => {
  const oneLine = new EventDecoder(100)
  expect(() => oneLine.push(new TextEncoder().encode(`data: ${'x'.repeat(200)}`))).toThrow('longer than 100 characters')
  const manyLines = new EventDecoder(100)
  expect(() => manyLines.push(new TextEncoder().encode('data: xxxxxxxx\n'.repeat(20)))).toThrow('longer than 100 characters')
})

function decode(pieces: readonly Uint8Array[]): ServerEvent[] {
  const decoder = new EventDecoder()
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()]
}

function unnamed(data: string): ServerEvent {
  return { name: '', data }
}
