/** What a tool is: as its author writes it, and as an agent has it. */
import type { ToolContext, ToolPort } from '../session/agent-port.js'
import type { ApprovalPolicy, Judgement } from './approval.js'
import type { JsonObject } from '../session/perform/to-json.js'
import type { SchemaLike } from './schema.js'

/**
 * What `execute` may give. Of a generator each yield but the last is shown as progress while it runs, and its value is what it
 * returns, or, when it returns nothing, its last yield.
 */
export type Executed<Result> =
  | Result
  | Promise<Result>
  | Generator<unknown, Result>
  | Generator<unknown, void>
  | AsyncGenerator<unknown, Result>
  | AsyncGenerator<unknown, void>

export interface ToolOptions<Input, Result, Output> {
  /** For the model: what it does, when to use it. */
  readonly description: string
  /** Of the arguments: a Standard Schema that converts itself to JSON Schema (zod 4.2 or newer), or JSON Schema. An object. */
  readonly input: SchemaLike<unknown, Input>
  /** Of the result, as JSON. A result that does not fit fails the call; what the schema gives (unknown keys left out, say) is kept. */
  readonly output?: SchemaLike<Result, Output>
  /**
   * Does it. Runs once for a call; see `idempotent`. What it throws becomes an error result: the model reads the message. The result is
   * kept as JSON (a Date as ISO text, undefined as null), at most 256 KiB of it: of more the head and the tail.
   */
  readonly execute: (input: Input, context: ToolContext) => Executed<NoInfer<Result>>
  /**
   * False (the default): a run that a crash cut short is never repeated; the model is told that it may have taken effect. True: it
   * runs again, with the same `context.callId`.
   */
  readonly idempotent?: boolean
  /** True: never runs beside another call of the same step. Default false. */
  readonly sequential?: boolean
  /** Whether a call has to be allowed before it runs. Default `never`. The rules of an agent ask beside it. */
  readonly approval?: ApprovalPolicy<Input>
  /** What a person reads instead of the tool's name, e.g. `Looking up order 1042`. One that throws is left out. */
  readonly label?: string | ((input: Input) => string)
  /** How long one run may take, milliseconds; then its signal aborts and the call fails. Default: as long as the turn. */
  readonly timeoutMs?: number
}

/** A tool as an agent has it: the port but for its name, and what is shown of it. */
export interface CompiledTool extends Omit<ToolPort, 'name' | 'approval'> {
  readonly kind: 'FUNCTION' | 'BUILT_IN'
  /** Null: it never asks. */
  readonly policy: Judgement | null
  /** The same, for people. */
  readonly approvalKind: 'NEVER' | 'ONCE' | 'ALWAYS' | 'CONDITIONAL'
  readonly outputSchema: JsonObject | null
}

/** Global, so that a tool made by another copy of this package is one too. */
const TOOL = Symbol.for('perdure.tool')

/** Made by `defineTool`; gets its name in `defineAgent`, under `tools`. */
export interface Tool<Input = unknown, Output = unknown> {
  readonly [TOOL]: true
  /** Only for the type checker: never there. */
  readonly '~types'?: { readonly input: Input; readonly output: Output }
  /** Throws PerdureError TOOL_INVALID; `owner` begins the message. For `defineAgent`. */
  compile(owner: string): CompiledTool
}

/** For `defineTool`. */
export function toTool<Input, Output>(compile: Tool['compile']): Tool<Input, Output> {
  return Object.freeze<Tool<Input, Output>>({ [TOOL]: true, compile })
}

export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && TOOL in value
}
