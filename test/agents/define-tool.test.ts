import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../server/agents/define-tool.js'
import { isTool, type Tool, type ToolOptions } from '../../server/agents/tool.js'
import type { Json } from '../../server/errors.js'
import type { JsonObject } from '../../server/session/perform/to-json.js'
import { start, toPort } from './tool-run.js'

/** What an author without a type checker may write. */
function compileLoose(options: unknown): unknown {
  const tool: unknown = Reflect.apply(defineTool, null, [options])
  return isTool(tool) ? tool.compile('agent "support", tool "refund"') : tool
}
const good = { description: 'd', input: { type: 'object' }, execute: () => null }

describe('types', () => {
  test('flow from the schemas into execute and out of it', () => {
    const tool = defineTool({
      description: 'd',
      input: z.object({ order: z.string(), count: z.number().default(1) }),
      output: z.object({ total: z.number(), note: z.string().default('') }),
      label: (input) => {
        expectTypeOf(input).toEqualTypeOf<{ order: string; count: number }>()
        return input.order
      },
      execute: (input, { callId }) => {
        expectTypeOf(input).toEqualTypeOf<{ order: string; count: number }>()
        expectTypeOf(callId).toExtend<string>()
        return { total: input.count }
      },
    })
    expectTypeOf(tool).toEqualTypeOf<Tool<{ order: string; count: number }, { total: number; note: string }>>()
  })

  test('of the output bind what execute gives, in whichever way', () => {
    type Execute = ToolOptions<JsonObject, { total: number }, unknown>['execute']
    expectTypeOf(() => ({ total: 7 })).toExtend<Execute>()
    expectTypeOf(() => Promise.resolve({ total: 7 })).toExtend<Execute>()
    expectTypeOf(() => ({ total: 'seven' })).not.toExtend<Execute>()
    expectTypeOf(() => Promise.resolve({})).not.toExtend<Execute>()
    const generators = [
      async function* () {
        yield 'half'
        return { total: 7 }
      },
      function* () {
        yield { total: 7 }
      },
    ] satisfies Execute[]
    expect(generators).toHaveLength(2)
  })

  test('of plain JSON Schema are JSON, or what the author says', () => {
    defineTool({
      description: 'd',
      input: { type: 'object' },
      execute: (input) => {
        expectTypeOf(input).toEqualTypeOf<JsonObject>()
      },
    })
    defineTool<{ city: string }>({
      description: 'd',
      input: { type: 'object' },
      execute: (input) => {
        expectTypeOf(input.city).toEqualTypeOf<string>()
      },
    })
    expectTypeOf<JsonObject[string]>().toEqualTypeOf<Json>()
  })
})

describe('a Standard Schema', () => {
  test('is shown as JSON Schema: arguments as they are taken, results as they are given', () => {
    const { inputSchema, outputSchema } = defineTool({
      description: 'd',
      input: z.object({ order: z.string().describe('four digits'), count: z.number().default(1) }),
      output: z.object({ total: z.number().default(0) }),
      execute: () => ({}),
    }).compile('t')
    expect(inputSchema).toEqual({
      type: 'object',
      properties: { order: { type: 'string', description: 'four digits' }, count: { type: 'number', default: 1 } },
      required: ['order'],
    })
    expect(outputSchema).toMatchObject({ properties: { total: { type: 'number' } }, required: ['total'] })
  })

  test('gives execute what it makes of the arguments', async () => {
    const tool = defineTool({
      description: 'd',
      input: z.object({ tags: z.string().transform((text) => text.split(',')), count: z.number().default(2) }),
      execute: (input) => input,
    })
    expect((await start(toPort(tool), { tags: 'a,b' }).ended).result.output).toEqual({ tags: ['a', 'b'], count: 2 })
  })

  test('of the output leaves out what it does not name', async () => {
    const row = { id: 'ada', passwordHash: 'secret' }
    const tool = defineTool({ description: 'd', input: z.object({}), output: z.object({ id: z.string() }), execute: () => row })
    expect((await start(toPort(tool)).ended).result.output).toEqual({ id: 'ada' })
  })

  test('or JSON Schema of the output sees the result as JSON', async () => {
    const output = { type: 'object', properties: { at: { type: 'string' } } } as const
    const tool = defineTool({ description: 'd', input: z.object({}), output, execute: () => ({ at: new Date(0) }) })
    expect((await start(toPort(tool)).ended).result.output).toEqual({ at: '1970-01-01T00:00:00.000Z' })
  })

  test('may answer later', async () => {
    const input = z.object({ order: z.string().refine((order) => Promise.resolve(order === '1'), 'unknown order') })
    const tool = toPort(defineTool({ description: 'd', input, execute: () => 'ran' }))
    expect(await tool.check({ order: '2' })).toBe('order: unknown order')
    expect(await tool.check({ order: '1' })).toBeNull()
    expect((await start(tool, { order: '1' }).ended).result.output).toBe('ran')
  })
})

describe('plain JSON Schema', () => {
  const input = {
    type: 'object',
    properties: { order: { type: 'string' }, kind: { enum: ['full', 'part'] }, 'a/b': { type: 'number' } },
    required: ['order'],
    additionalProperties: false,
  } as const

  test('is checked, and each issue named with its path', async () => {
    const tool = toPort(defineTool({ description: 'd', input, execute: (given) => given }))
    expect(await tool.check({ order: '1', kind: 'full' })).toBeNull()
    expect(await tool.check({ kind: 'all', 'a/b': 'x', more: 1 })).toBe(
      "must have required property 'order'; must NOT have additional properties: more; kind: must be equal to one of the allowed values: full, part; a/b: must be number",
    )
  })

  test('of the output fails a result that does not fit', async () => {
    const output = { type: 'object', required: ['total'] } as const
    const { result } = await start(toPort(defineTool({ description: 'd', input, output, execute: () => ({}) })), { order: '1' }).ended
    expect(result.error?.message).toBe("the tool ran, but its result does not fit its output schema: must have required property 'total'")
  })

  test('lists at most ten issues', async () => {
    const many = { type: 'object', required: Array.from({ length: 50 }, (_, index) => `field${String(index)}`) } as const
    expect(await toPort(defineTool({ description: 'd', input: many, execute: () => null })).check({})).toMatch(/; and 40 more$/)
  })
})

describe('a wrong definition', () => {
  test.each<[string, unknown, string]>([
    ['no object', undefined, 'give defineTool one object: { description, input, execute }'],
    ['a misspelt option', { ...good, inputs: {} }, 'there is no option "inputs"; did you mean "input"?'],
    ['no description', { ...good, description: ' ' }, 'description is missing; say what the tool does, the model reads it'],
    ['no input', { ...good, input: undefined }, 'input is missing; for a tool without arguments give z.object({})'],
    ['no execute', { ...good, execute: 'x' }, 'execute must be a function of (input, context)'],
    ['a label that is none', { ...good, label: 7 }, 'label must be a text or a function of the input'],
    ['idempotent as a text', { ...good, idempotent: 'yes' }, 'idempotent must be true or false'],
    ['a time limit of 0', { ...good, timeoutMs: 0 }, 'timeoutMs must be a whole number of milliseconds over 0, not 0'],
    [
      'a schema whose root is a list',
      { ...good, input: z.array(z.string()) },
      'the input schema cannot be used: its root must be an object and has type "array"; wrap it, e.g. z.object({ value: … })',
    ],
    [
      'a schema whose root is a union',
      { ...good, input: z.union([z.object({}), z.object({ a: z.string() })]) },
      'the input schema cannot be used: its root must be an object and has no type; wrap it, e.g. z.object({ value: … })',
    ],
    [
      'a schema without JSON Schema',
      { ...good, input: z.object({ at: z.date() }) },
      'the input schema cannot be used: it has no JSON Schema: Date cannot be represented in JSON Schema',
    ],
    [
      'a JSON Schema that is none',
      { ...good, input: { type: 'object', properties: 7 } },
      'the input schema cannot be used: it is no valid JSON Schema (draft 2020-12): schema is invalid: data/properties must be object',
    ],
    [
      'a schema of a library that cannot convert',
      { ...good, output: { '~standard': { version: 1, vendor: 'valibot', validate: () => ({ value: 1 }) } } },
      'the output schema cannot be used: a schema of valibot does not convert itself to JSON Schema; use zod 4.2 or newer, or give plain JSON Schema',
    ],
    [
      'a schema that is a text',
      { ...good, input: 'string' },
      'the input schema cannot be used: it is "string"; give a Standard Schema (zod 4.2 or newer) or JSON Schema',
    ],
  ])('with %s is refused by name, with the mend', (_, options, problem) => {
    expect(() => compileLoose(options)).toThrow(
      expect.objectContaining({ code: 'TOOL_INVALID', message: `agent "support", tool "refund": ${problem}` }),
    )
  })
})
