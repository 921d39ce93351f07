/** Checks a tool's definition, and makes of it what the heart runs (ToolPort). */
import { PerdureError, type Json } from '../errors.js'
import type { ToolContext } from '../session/agent-port.js'
import { readMessage, toJson } from '../session/perform/to-json.js'
import { compilePolicy } from './approval.js'
import type { CompiledTool, ToolOptions } from './tool.js'
import { isRecord, refuseUnknownOptions } from './loose-options.js'
import { toSchema, type Parsed, type Schema, type SchemaLike } from './schema.js'

const OPTIONS = ['description', 'input', 'output', 'execute', 'idempotent', 'sequential', 'approval', 'label', 'timeoutMs'] as const
const APPROVAL_KINDS = { never: 'NEVER', once: 'ONCE', always: 'ALWAYS' } as const
const MAX_LABEL = 200

/** Throws PerdureError TOOL_INVALID, its message beginning with `owner`. */
export function compileTool<Input, Result, Output>(owner: string, options: ToolOptions<Input, Result, Output>): CompiledTool {
  const refuse = (problem: string): never => {
    throw new PerdureError('TOOL_INVALID', `${owner}: ${problem}`)
  }
  if (!isRecord(options)) return refuse('give defineTool one object: { description, input, execute }')
  refuseUnknownOptions(options, OPTIONS, refuse)
  checkOptions(options, refuse)
  const input = readSchema(options.input, 'input', refuse)
  const output = options.output === undefined ? null : readSchema<Output>(options.output, 'output', refuse)
  const { approval = 'never' } = options
  return {
    description: options.description,
    kind: 'FUNCTION',
    policy: compilePolicy(approval, (value) => readInput(input, value), refuse),
    approvalKind: typeof approval === 'function' ? 'CONDITIONAL' : APPROVAL_KINDS[approval],
    inputSchema: input.json,
    outputSchema: output?.json ?? null,
    idempotent: options.idempotent ?? false,
    sequential: options.sequential ?? false,
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    label: (value) => toLabel(options.label, input, value),
    check: async (value) => checkInput(input, value),
    run: async (value, context, progress) => {
      const parsed = await readInput(input, value)
      context.signal.throwIfAborted()
      const result = await settle(await options.execute(parsed, context), context, progress)
      return output === null ? result : checkOutput(output, result)
    },
  }
}

/** The arguments were checked when they were asked for; by now the tool may be another one. */
async function readInput<Input>(schema: Schema<Input>, value: Json): Promise<Input> {
  const parsed = await schema.parse(value)
  if (parsed.ok) return parsed.value
  throw new PerdureError('TOOL_INPUT_INVALID', `the arguments do not fit this tool any more: ${parsed.problem}`)
}

type Refuse = (problem: string) => never

function checkOptions<Input, Result, Output>(options: ToolOptions<Input, Result, Output>, refuse: Refuse): void {
  const { description, execute, label, timeoutMs } = options
  if (typeof description !== 'string' || description.trim() === '')
    refuse('description is missing; say what the tool does, the model reads it')
  if (isMissing(options.input)) refuse('input is missing; for a tool without arguments give z.object({})')
  if (typeof execute !== 'function') refuse('execute must be a function of (input, context)')
  if (label !== undefined && typeof label !== 'string' && typeof label !== 'function')
    refuse('label must be a text or a function of the input')
  for (const key of ['idempotent', 'sequential'] as const) {
    if (options[key] !== undefined && typeof options[key] !== 'boolean') refuse(`${key} must be true or false`)
  }
  if (timeoutMs !== undefined && !(Number.isInteger(timeoutMs) && timeoutMs > 0)) {
    refuse(`timeoutMs must be a whole number of milliseconds over 0, not ${String(timeoutMs)}`)
  }
}

/** The type says that it is there; an author without a type checker may have left it out. */
function isMissing(value: unknown): boolean {
  return value === undefined
}

function readSchema<T>(like: SchemaLike<unknown, T>, side: 'input' | 'output', refuse: Refuse): Schema<T> {
  const result = toSchema<T>(like, side)
  return result.ok ? result.schema : refuse(`the ${side} schema cannot be used: ${result.refused}`)
}

async function checkInput<Input>(schema: Schema<Input>, value: Json): Promise<string | null> {
  try {
    const parsed = await schema.parse(value)
    return parsed.ok ? null : parsed.problem
  } catch (thrown) {
    return `the schema itself failed: ${readMessage(thrown)}`
  }
}

/** A label needs the input at once: of a schema that only answers later there is none. */
function toLabel<Input>(label: ToolOptions<Input, unknown, unknown>['label'], schema: Schema<Input>, value: Json): string | null {
  if (label === undefined) return null
  try {
    const text: unknown = typeof label === 'string' ? label : labelOf(label, schema.parse(value))
    return typeof text === 'string' && text.trim() !== '' ? Array.from(text).slice(0, MAX_LABEL).join('') : null
  } catch {
    return null
  }
}

function labelOf<Input>(label: (input: Input) => string, parsed: Parsed<Input> | Promise<Parsed<Input>>): string | null {
  if (!(parsed instanceof Promise)) return parsed.ok ? label(parsed.value) : null
  parsed.catch(() => undefined)
  return null
}

/** What `execute` gave, run to its end when it is a generator. */
async function settle(given: unknown, context: ToolContext, progress: (output: unknown) => void): Promise<unknown> {
  const iterator = toIterator(given)
  if (iterator === null) return given
  let last: unknown
  for (;;) {
    const step = await iterator.next()
    if (step.done === true) return step.value === undefined ? last : step.value
    if (context.signal.aborted) {
      // Lets its finally blocks run; what they take is theirs.
      await iterator.return?.()
      throw context.signal.reason
    }
    last = await step.value
    progress(last)
  }
}

type AnyIterator = AsyncIterator<unknown, unknown> | Iterator<unknown, unknown>

/** Async iterables of any kind; of sync ones only generators, for an array is a value. */
function toIterator(given: unknown): AnyIterator | null {
  if (typeof given !== 'object' || given === null) return null
  if (isAsyncIterable(given)) return given[Symbol.asyncIterator]()
  return isGenerator(given) ? given : null
}

function isAsyncIterable(value: object): value is AsyncIterable<unknown, unknown> {
  return Symbol.asyncIterator in value && typeof value[Symbol.asyncIterator] === 'function'
}

function isGenerator(value: object): value is Generator<unknown, unknown> {
  return Object.prototype.toString.call(value) === '[object Generator]'
}

/** Checks the result as it will be kept. What is no JSON at all is for the caller to name. */
async function checkOutput<Output>(schema: Schema<Output>, result: unknown): Promise<unknown> {
  const converted = toJson(result)
  if (!converted.ok) return result
  const parsed = await schema.parse(converted.value)
  if (parsed.ok) return parsed.value
  throw new PerdureError('TOOL_OUTPUT_INVALID', `the tool ran, but its result does not fit its output schema: ${parsed.problem}`)
}
