import { describe, expect, test } from 'vitest'
import { MAX_OUTPUT_BYTES } from '../../server/session/perform/run-tool.js'
import { NOW, start, toolOf } from '../agents/tool-run.js'

async function outputOf(execute: () => unknown): Promise<unknown> {
  const { status, result } = await start(toolOf(execute)).ended
  return status === 'COMPLETED' ? result.output : result.error
}

describe('a result', () => {
  test('is stored as JSON, and told to the model as JSON text', async () => {
    const ended = await start(toolOf(() => ({ status: 'shipped', at: new Date(0), note: undefined }))).ended
    expect(ended).toEqual({
      kind: 'tool-ended',
      callId: 'call_0123',
      status: 'COMPLETED',
      result: {
        output: { status: 'shipped', at: '1970-01-01T00:00:00.000Z' },
        text: '{"status":"shipped","at":"1970-01-01T00:00:00.000Z"}',
        error: null,
        truncatedBytes: 0,
        endedAt: NOW,
      },
    })
  })

  test('that is a text is told as it is', async () => {
    const { result } = await start(toolOf(() => 'It "shipped".')).ended
    expect(result).toMatchObject({ output: 'It "shipped".', text: 'It "shipped".' })
  })

  test('that is undefined is null; falsy values stay what they are', async () => {
    for (const value of [null, false, 0, '']) expect(await outputOf(() => value)).toBe(value)
    expect(await outputOf(() => undefined)).toBeNull()
  })

  test('may come later', async () => {
    expect(await outputOf(() => Promise.resolve(7))).toBe(7)
  })

  test.each<[string, () => unknown, string]>([
    ['a Map', () => ({ items: [{}, { due: new Map() }] }), 'items[1].due of the result is a Map; use Object.fromEntries(map)'],
    ['a Set', () => new Set([1]), 'the result is a Set; use [...set]'],
    ['a BigInt', () => ({ 'total cents': 5n }), '["total cents"] of the result is a BigInt; use String(value)'],
    ['undefined in a list', () => [1, undefined], '[1] of the result is undefined; use null'],
    ['a function', () => ({ retry: () => 1 }), 'retry of the result is a function; leave it out'],
    ['a symbol', () => Symbol('s'), 'the result is a symbol; use its description'],
    ['NaN', () => ({ mean: Number.NaN }), 'mean of the result is NaN; use null or a text'],
    ['bytes', () => Buffer.from('x'), 'the result is binary; encode it as base64 text'],
    ['a promise inside', () => ({ later: Promise.resolve(1) }), 'later of the result is a Promise; await it'],
    ['an Error', () => new Error('x'), 'the result is an Error; throw it, or use its message'],
    ['an invalid Date', () => new Date('soon'), 'the result is an invalid Date; use null'],
    [
      'a getter that throws',
      () => ({
        get total(): number {
          throw new Error('no total')
        },
      }),
      'total of the result cannot be read: no total',
    ],
    [
      'a cycle',
      () => {
        const loop: { self?: object } = {}
        loop.self = loop
        return loop
      },
      'self of the result contains itself; use an id instead',
    ],
  ])('that holds %s fails the call and names the place and the mend', async (_, execute, problem) => {
    const ended = await start(toolOf(execute)).ended
    expect(ended.status).toBe('FAILED')
    expect(ended.result.error).toEqual({
      code: 'TOOL_OUTPUT_INVALID',
      message: `work ran, but its result cannot be kept: ${problem}`,
      retryable: false,
    })
    expect(ended.result.text).toBe(ended.result.error?.message)
  })

  test('nested without end fails the call', async () => {
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level += 1) deep = [deep]
    expect(await outputOf(() => deep)).toMatchObject({ code: 'TOOL_OUTPUT_INVALID' })
  })

  test('that shares an object in two places is no cycle', async () => {
    const address = { city: 'Ulm' }
    expect(await outputOf(() => ({ from: address, to: address }))).toEqual({ from: { city: 'Ulm' }, to: { city: 'Ulm' } })
  })

  test('with a key __proto__ keeps it as a key', async () => {
    const { result } = await start(toolOf((): unknown => JSON.parse('{"__proto__": {"admin": true}}'))).ended
    expect(result.text).toBe('{"__proto__":{"admin":true}}')
    expect(result.output).not.toHaveProperty('admin')
  })
})

describe('a large result', () => {
  test('of exactly the limit is kept whole', async () => {
    const whole = 'x'.repeat(MAX_OUTPUT_BYTES - 2)
    expect((await start(toolOf(() => whole)).ended).result).toMatchObject({ output: whole, truncatedBytes: 0 })
  })

  test('is cut to its head and tail, with one notice, and says by how much', async () => {
    const { result, status } = await start(toolOf(() => `BEGIN${'x'.repeat(400_000)}END`)).ended
    expect(status).toBe('COMPLETED')
    expect(result.text).toMatch(/^BEGINx+\n\[… \d+ of 400008 bytes left out here: too long to keep …\]\nx+END$/)
    expect(result.output).toBe(result.text)
    expect(result.truncatedBytes).toBe(Number(/… (\d+) of/.exec(result.text)?.[1]))
    const kept = result.text.replace(/\n\[….*…\]\n/, '')
    expect(Buffer.byteLength(kept) + result.truncatedBytes).toBe(400_008)
  })

  test('that is no text is cut as JSON text', async () => {
    const { result } = await start(toolOf(() => Array.from({ length: 40_000 }, (_, id) => ({ id })))).ended
    expect(result.text).toMatch(/^\[\{"id":0\},[^]*\{"id":39999\}\]$/)
    expect(result.truncatedBytes).toBeGreaterThan(0)
  })

  test.each([0, 1, 2, 3])('is never cut inside a character (%i bytes before)', async (shift) => {
    const { result } = await start(toolOf(() => 'a'.repeat(shift) + '🦊'.repeat(100_000))).ended
    expect(result.text).not.toMatch(/\uFFFD/)
    expect(JSON.stringify(result.text)).not.toMatch(/\\ud[89a-f]/)
  })

  test.each([
    ['line ends', '\n'],
    ['control characters', '\u0001'],
    ['quotes', '"'],
    ['foxes', '🦊'],
  ])('of %s stays within the limit as JSON too', async (_, text) => {
    const { result } = await start(toolOf(() => text.repeat(300_000))).ended
    const bytes = Buffer.byteLength(JSON.stringify(result.output))
    expect(bytes).toBeLessThanOrEqual(MAX_OUTPUT_BYTES)
    expect(bytes).toBeGreaterThan(MAX_OUTPUT_BYTES * 0.9)
  })
})
