import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../server/agents/define-tool.js'
import { start, toolOf, toPort } from '../agents/tool-run.js'

describe('a failure', () => {
  test('gives the model the message and never the stack', async () => {
    const { status, result } = await start(
      toolOf(() => {
        throw new Error('order 7 is not there')
      }),
    ).ended
    expect(status).toBe('FAILED')
    expect(result).toMatchObject({
      output: null,
      text: 'order 7 is not there',
      error: { code: 'TOOL_FAILED', message: 'order 7 is not there', retryable: false },
    })
  })

  test('says what caused it', async () => {
    const { result } = await start(
      toolOf(() => Promise.reject(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') }))),
    ).ended
    expect(result.text).toBe('fetch failed (connect ECONNREFUSED)')
  })

  test.each<[string, unknown, string]>([
    ['a text', 'sold out', 'sold out'],
    ['an error without a message', new RangeError(''), 'RangeError'],
    ['nothing', undefined, 'undefined'],
    ['what cannot be shown', Object.create(null), 'a value that cannot be shown'],
  ])('may throw %s', async (_, thrown, text) => {
    const { status, result } = await start(
      toolOf(() => {
        throw thrown
      }),
    ).ended
    expect([status, result.text]).toEqual(['FAILED', text])
  })

  test('with an endless message is cut', async () => {
    const { result } = await start(
      toolOf(() => {
        throw new Error('x'.repeat(1_000_000))
      }),
    ).ended
    expect(result.text.length).toBeLessThan(10_000)
  })

  test('of the input schema at run time, say after a release, runs nothing', async () => {
    let ran = false
    const tool = toPort(
      defineTool({
        description: 'd',
        input: z.object({ order: z.string() }),
        execute: () => {
          ran = true
        },
      }),
    )
    const { result } = await start(tool, { order: 7 }).ended
    expect(result.error).toMatchObject({ code: 'TOOL_INPUT_INVALID', message: expect.stringContaining('order: ') })
    expect(ran).toBe(false)
  })

  test('of the output schema says that the tool ran', async () => {
    const tool = toPort(
      defineTool({
        description: 'd',
        input: z.object({}),
        output: z.object({ total: z.string().min(3) }),
        execute: () => ({ total: '7' }),
      }),
    )
    const { status, result } = await start(tool).ended
    expect(status).toBe('FAILED')
    expect(result.error).toMatchObject({ code: 'TOOL_OUTPUT_INVALID', message: expect.stringMatching(/^the tool ran, but .*total: /) })
  })
})
