/** What the heart needs of an agent and of its tools. */
import type { Json } from '../errors.js'
import type { CallId, SessionId, TurnId } from '../ids.js'
import type { RecordedEvent } from './events.js'
import type { ModelClient } from './model.js'
import type { Log } from './ports.js'
import type { Principal } from './principal.js'
import type { RequestSpec } from './requests.js'
import type { SessionMode } from './session.js'
import type { StateAccess } from './state.js'

export interface AgentLimits {
  readonly maxIterationsPerTurn: number
  readonly turnTimeoutMs: number
  readonly cancelGraceMs: number
  /** How long a session may be idle before it ends; null: for ever. */
  readonly sessionTimeoutMs: number | null
  /** Of all turns of a session; whoever crosses one is asked whether to go on with as much again. Null: no limit. */
  readonly maxInputTokensPerSession: number | null
  readonly maxOutputTokensPerSession: number | null
  readonly maxCostUsdPerSession: number | null
}
export interface AgentPort {
  readonly name: string
  /** How long its sessions last, unless one says otherwise. */
  readonly mode: SessionMode
  readonly model: ModelClient
  /** Read at every model call. */
  instructions(): string | Promise<string>
  readonly tools: ReadonlyMap<string, ToolPort>
  readonly limits: AgentLimits
  /** Tells the author's hooks of an event that was recorded. Missing: there are none. Throws what they throw. */
  readonly notify?: (event: RecordedEvent, context: HookContext) => unknown
}
export interface HookContext {
  readonly session: ToolContext['session']
  readonly log: Log
}
export interface ToolPort {
  readonly name: string
  readonly description: string
  readonly inputSchema: { readonly [key: string]: Json }
  readonly idempotent: boolean
  readonly sequential: boolean
  /** How long one run may take, milliseconds. Without: as long as the turn. */
  readonly timeoutMs?: number
  /** Whether a call may run, asked before it does. Missing: always. */
  readonly approval?: (context: ApprovalContext) => Promise<Verdict>
  /** A tool that is answered by a person instead of run: what its call asks. Throws when the input asks nothing. */
  readonly question?: (input: Json) => RequestSpec
  /** What a person reads instead of the name, or null. Never throws. */
  label(input: Json): string | null
  /** Null when the input fits the schema, else what is wrong, for the model to read. */
  check(input: Json): Promise<string | null>
  /**
   * Runs the author's code once. Throws what it throws, or PerdureError TOOL_INPUT_INVALID before it, TOOL_OUTPUT_INVALID after it,
   * when a schema refuses the input or the result.
   */
  run(input: Json, context: ToolContext, progress: (output: unknown) => void): Promise<unknown>
}
export type Verdict =
  | { readonly kind: 'allow' }
  | { readonly kind: 'deny'; readonly reason: string | null }
  | { readonly kind: 'ask'; readonly request: RequestSpec }

/** What a policy knows of the call that it judges. */
export interface ApprovalContext<Input = Json> {
  readonly session: ToolContext['session']
  readonly turn: ToolContext['turn']
  /** Whom the turn serves: the call runs as him. */
  readonly principal: Principal
  readonly callId: CallId
  readonly tool: string
  readonly input: Input
  /** Aborts when the call of the model that asked for it is stopped. */
  readonly signal: AbortSignal
  readonly log: Log
  /** Whether the tool was allowed to this person for the rest of the session. */
  isGranted(): Promise<boolean>
}
export interface ToolContext {
  readonly session: {
    readonly id: SessionId
    readonly agent: string
    readonly title: string | null
    readonly metadata: { readonly [key: string]: Json }
    readonly owner: Principal
  }
  readonly turn: { readonly id: TurnId; readonly number: number }
  /** The same when an idempotent call runs again after a crash: an idempotency key for whatever it calls. */
  readonly callId: CallId
  /** Aborts when the call is cancelled, its turn times out, or this process loses the session. */
  readonly signal: AbortSignal
  /** Whom the turn serves. */
  readonly principal: Principal
  readonly log: Log
  /** What the author's code remembers of the session; see `defineState`. */
  readonly state: StateAccess
  /**
   * A value that is computed once for the session, and kept with it: `compute` runs when nothing is kept under the key yet, and again after one that
   * threw, or that a crash cut short. Kept as JSON, at most 64 KiB. Calls side by side compute it once.
   */
  memo<Value>(key: string, compute: () => Value | Promise<Value>): Promise<Value>
}
