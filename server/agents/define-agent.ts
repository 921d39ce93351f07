import { PerdureError } from '../errors.js'
import type { ModelClient } from '../session/model.js'
import type { AgentLimits } from '../session/agent-port.js'
import { WIRE_NAMES } from '../session/events.js'
import { HOOKED_TYPES, type Hooks } from '../session/hooks.js'
import { SESSION_MODES, type SessionMode } from '../session/session.js'
import { checkRules, type ApprovalRule } from './approval.js'
import { readLimits } from './limits.js'
import { isTool, type CompiledTool, type Tool } from './tool.js'
import { isRecord, refuseUnknownOptions } from './loose-options.js'

export interface AgentOptions {
  /** How clients name it: lower-case letters, digits and dashes, begins with a letter, at most 64. */
  readonly name: string
  /** For people who choose an agent. */
  readonly description?: string
  /** `provider/model`, e.g. `openai/gpt-5-mini`, or a client: `scripted(…)`, `openaiChat(…)`. */
  readonly model: string | ModelClient
  /** The system instructions. Never stored: read at every model call, so a function may look up what is true now. */
  readonly instructions: string | (() => string | Promise<string>)
  /**
   * `CONVERSATION` (the default): its sessions go on until somebody ends them. `TASK`: the end of the first turn is the end of the
   * session. A session may be created with another one.
   */
  readonly mode?: SessionMode
  /** By the name that the model calls: letters, digits, `_` and `-`, at most 64. */
  readonly tools?: Readonly<Record<string, Tool>>
  /** Calls that somebody has to allow before they run, e.g. `[{ tool: 'refund_*', when: ({ input }) => input.amount > 100, reviewers: ['role:manager'] }]`. */
  readonly approvals?: readonly ApprovalRule[]
  /**
   * Told of what was recorded, by the name of the event, e.g. `{ 'turn.completed': (event, { session }) => … }`: at most once for each event, after it
   * is durable, in the process that recorded it. It observes: nothing waits for it, and what it throws is logged.
   */
  readonly hooks?: Hooks
  /**
   * Defaults: 200 model calls a turn, 30 minutes of active time a turn, 10 seconds for tools to answer a cancel, 30 days that a session
   * may be idle (`sessionTimeoutMs`; null: for ever). No budget of tokens or dollars: with one, whoever crosses it is asked whether to go on
   * with as much again.
   */
  readonly limits?: Partial<AgentLimits>
}

const AGENT = Symbol.for('perdure.agent')

/** Made by `defineAgent`. A value: defining it starts nothing. */
export interface Agent {
  readonly [AGENT]: true
  readonly name: string
  readonly description: string | null
  readonly model: string | ModelClient
  readonly instructions: string | (() => string | Promise<string>)
  readonly mode: SessionMode
  readonly tools: ReadonlyMap<string, CompiledTool>
  readonly limits: AgentLimits
  readonly hooks: Hooks
  readonly approvals: readonly ApprovalRule[]
}

const OPTIONS = ['name', 'description', 'model', 'instructions', 'mode', 'tools', 'approvals', 'hooks', 'limits'] as const
const AGENT_NAME = /^[a-z][a-z0-9-]{0,63}$/
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

type Refuse = (problem: string) => never

/**
 * Defines an agent. Throws PerdureError AGENT_INVALID or TOOL_INVALID, with the names and the mend, when something in it is wrong.
 *
 * ```ts
 * export default defineAgent({
 *   name: 'hello',
 *   model: 'openai/gpt-5-mini',
 *   instructions: 'You greet people, in one sentence.',
 * })
 * ```
 */
export function defineAgent(options: AgentOptions): Agent {
  if (!isRecord(options)) {
    throw new PerdureError('AGENT_INVALID', 'give defineAgent one object: { name, model, instructions }')
  }
  const name = checkName(options.name)
  const refuse: Refuse = (problem) => {
    throw new PerdureError('AGENT_INVALID', `agent "${name}": ${problem}`)
  }
  refuseUnknownOptions(options, OPTIONS, refuse)
  checkOptions(options, refuse)
  return Object.freeze<Agent>({
    [AGENT]: true,
    name,
    description: options.description ?? null,
    model: options.model,
    instructions: options.instructions,
    mode: options.mode ?? 'CONVERSATION',
    tools: compileTools(name, options.tools ?? {}, refuse),
    limits: readLimits(options.limits ?? {}, refuse),
    hooks: checkHooks(options.hooks ?? {}, refuse),
    approvals: checkRules(options.approvals ?? [], refuse),
  })
}

export function isAgent(value: unknown): value is Agent {
  return typeof value === 'object' && value !== null && AGENT in value
}

function checkName(name: unknown): string {
  if (typeof name === 'string' && AGENT_NAME.test(name)) return name
  const shown = name === undefined ? 'an agent has no name' : `${JSON.stringify(name)} is no name for an agent`
  const example = typeof name === 'string' ? suggestName(name) : 'support'
  throw new PerdureError('AGENT_INVALID', `${shown}; use lower-case letters, digits and dashes, at most 64, e.g. name: "${example}"`)
}

function suggestName(name: string): string {
  const dashed = name.replace(/([a-z0-9])([A-Z])/g, '$1-$2').toLowerCase()
  const clean = dashed.replace(/[^a-z0-9]+/g, '-').replace(/^[^a-z]+|-+$/g, '')
  return clean.slice(0, 64) || 'support'
}

function checkOptions(options: AgentOptions, refuse: Refuse): void {
  const { description, model, instructions, mode } = options
  if (description !== undefined && typeof description !== 'string') refuse('description must be a text')
  if (!isModel(model)) refuse('model must be a text such as "openai/gpt-5-mini", or a client such as scripted(…) or openaiChat(…)')
  if (typeof instructions !== 'string' && typeof instructions !== 'function') {
    refuse('instructions must be a text, or a function that gives one')
  }
  if (mode !== undefined && !SESSION_MODES.includes(mode)) refuse(`mode must be ${SESSION_MODES.join(' or ')}, not ${mode}`)
}

function isModel(model: unknown): boolean {
  if (typeof model === 'string') return model.trim() !== ''
  if (typeof model !== 'object' || model === null) return false
  return 'name' in model && typeof model.name === 'string' && 'stream' in model && typeof model.stream === 'function'
}

function compileTools(agent: string, tools: Readonly<Record<string, Tool>>, refuse: Refuse): ReadonlyMap<string, CompiledTool> {
  if (!isRecord(tools)) {
    return refuse('tools must be an object of names and tools, e.g. tools: { look_up_order: defineTool(…) }')
  }
  const compiled = new Map<string, CompiledTool>()
  for (const [name, tool] of Object.entries(tools)) {
    if (!TOOL_NAME.test(name)) {
      const mended = name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, 64)
      refuse(`${JSON.stringify(name)} is no name for a tool; use letters, digits, _ and -, at most 64, e.g. ${mended || 'look_up'}`)
    }
    if (!isTool(tool)) refuse(`tool "${name}" is not made by defineTool; write ${name}: defineTool({ description, input, execute })`)
    compiled.set(name, tool.compile(`agent "${agent}", tool "${name}"`))
  }
  return compiled
}

function checkHooks(hooks: Hooks, refuse: Refuse): Hooks {
  if (!isRecord(hooks)) refuse("hooks must be an object of events and functions, e.g. hooks: { 'turn.completed': (event) => … }")
  const names = HOOKED_TYPES.map((type) => WIRE_NAMES[type])
  refuseUnknownOptions(hooks, names, (problem) => refuse(`hooks: ${problem}`))
  for (const [name, hook] of Object.entries(hooks)) {
    if (typeof hook !== 'function') refuse(`hooks: "${name}" must be a function of (event, { session, log })`)
  }
  return hooks
}
