import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../server/agents/define-tool.js'
import type { ToolPort } from '../../server/session/agent-port.js'
import { storedId } from '../../server/ids.js'
import { checkCall } from '../../server/session/perform/check-call.js'
import { createJudge } from '../../server/session/perform/judge-call.js'
import { toPort } from '../agents/tool-run.js'

const refund = defineTool({
  description: 'Refunds.',
  input: z.object({ order: z.string(), lines: z.array(z.object({ count: z.number() })).default([]) }),
  label: ({ order, lines }) => `Refunding ${order}, ${String(lines.length)} lines`,
  sequential: true,
  execute: () => null,
})
const lookUp = defineTool({
  description: 'Looks up.',
  input: z.object({ order: z.string().optional() }),
  idempotent: true,
  execute: () => null,
})
const tools: ReadonlyMap<string, ToolPort> = new Map([
  ['refund', toPort(refund, 'refund')],
  ['look_up', toPort(lookUp, 'look_up')],
])

const id = storedId('call', 'call_checked')
const judge = createJudge(() => {
  throw new Error('nobody is asked here')
})

const check = (name: string, rawInput: string) => checkCall({ id, tools, name, rawInput, judge })

describe('a call that fits', () => {
  test('may run, with its label and what the tool declared', async () => {
    expect(await check('refund', '{"order":"1042"}')).toEqual({
      id,
      name: 'refund',
      label: 'Refunding 1042, 0 lines',
      input: { order: '1042' },
      rawInput: null,
      refusal: null,
      ask: null,
      idempotent: false,
      sequential: true,
    })
  })

  test.each(['', '  \n'])('may have empty arguments %j, which mean {}', async (rawInput) => {
    expect(await check('look_up', rawInput)).toMatchObject({ input: {}, rawInput: null, refusal: null, idempotent: true })
  })
})

describe('a call that does not fit', () => {
  test.each(['{"order": "10', 'order=1042', '{"order":"1"} {}'])(
    'because %j is no JSON keeps the text and has input {}',
    async (rawInput) => {
      const call = await check('refund', rawInput)
      expect(call).toMatchObject({ input: {}, rawInput, label: null, refusal: { code: 'TOOL_INPUT_INVALID', retryable: false } })
      expect(call.refusal?.message).toMatch(
        /^The arguments of refund were refused and it did not run: they are not valid JSON \(.*\); write one JSON object$/,
      )
    },
  )

  test('names each path and what is wrong there', async () => {
    const call = await check('refund', '{"order":7,"lines":[{"count":1},{"count":"two"}]}')
    expect(call).toMatchObject({ input: { order: 7 }, rawInput: null, label: null })
    expect(call.refusal?.message).toMatch(/order: .*string.*; lines\.1\.count: .*number/)
  })

  test.each(['null', '[]', '"{}"', '7'])('is one whose arguments are %s, no object', async (rawInput) => {
    expect((await check('look_up', rawInput)).refusal?.code).toBe('TOOL_INPUT_INVALID')
  })

  test('is one nested without end', async () => {
    expect((await check('look_up', '['.repeat(50_000) + ']'.repeat(50_000))).refusal?.code).toBe('TOOL_INPUT_INVALID')
  })

  test('of a tool that is not there names the one that was meant, and all there are', async () => {
    const call = await check('lookup', '{"order":"1"}')
    expect(call).toMatchObject({ name: 'lookup', input: { order: '1' }, idempotent: false, sequential: false })
    expect(call.refusal).toEqual({
      code: 'TOOL_UNKNOWN',
      message: 'There is no tool "lookup". Did you mean look_up? The tools are: refund, look_up.',
      retryable: false,
    })
  })

  test('of a tool that is like no other guesses nothing, and stays short whatever its name', async () => {
    expect((await check('send_email', '{}')).refusal?.message).toBe('There is no tool "send_email". The tools are: refund, look_up.')
    expect((await check('x'.repeat(1_000_000), '{}')).refusal?.message.length).toBeLessThan(10_000)
    expect((await checkCall({ id, judge, tools: new Map(), name: 'a', rawInput: '{}' })).refusal?.message).toBe(
      'There is no tool "a". There are no tools here.',
    )
  })

  test('because its schema throws is refused, not a fault', async () => {
    const input = z.object({
      a: z.string().refine(() => {
        throw new Error('no database')
      }),
    })
    const port = toPort(defineTool({ description: 'd', input, execute: () => null }))
    const call = await checkCall({ id, judge, tools: new Map([['work', port]]), name: 'work', rawInput: '{"a":"b"}' })
    expect(call.refusal?.message).toContain('no database')
  })
})

describe('a label', () => {
  const labelOf = async (label: string | (() => string), input: z.ZodType = z.object({})) => {
    const port = toPort(defineTool({ description: 'd', input, label, execute: () => null }))
    const call = await checkCall({ id, judge, tools: new Map([['work', port]]), name: 'work', rawInput: '{}' })
    expect(call.refusal).toBeNull()
    return call.label
  }

  test('may be a text', async () => {
    expect(await labelOf('Counting')).toBe('Counting')
  })

  test('that throws, or is empty is left out', async () => {
    expect(
      await labelOf(() => {
        throw new Error('no')
      }),
    ).toBeNull()
    expect(await labelOf(() => ' ')).toBeNull()
  })

  test('is cut at 200 characters, never inside one', async () => {
    expect(await labelOf(() => '🦊'.repeat(500))).toBe('🦊'.repeat(200))
  })

  test('is left out when its schema answers only later', async () => {
    expect(
      await labelOf(
        () => 'now',
        z.object({}).refine(() => Promise.resolve(true)),
      ),
    ).toBeNull()
  })
})
