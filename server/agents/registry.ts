/** The agents of one deployment, each with its model, ready for sessions to be driven. A value: it starts nothing and never changes. */
import { PerdureError } from '../errors.js'
import type { ModelClient } from '../session/model.js'
import type { AgentLimits, AgentPort, ToolPort, Verdict } from '../session/agent-port.js'
import type { ApprovalDecision } from '../session/requests.js'
import type { SessionMode } from '../session/session.js'
import type { JsonObject } from '../session/perform/to-json.js'
import { rulesFor, toReviewer, type ApprovalRule } from './approval.js'
import type { Agent } from './define-agent.js'
import { toNotify } from './hook-codec.js'
import type { CompiledTool } from './tool.js'

export type ResolveModel = (spec: string | ModelClient, agent: string) => ModelClient

export interface AgentRegistry {
  /** Sorted. */
  readonly names: readonly string[]
  get(name: string): AgentPort | undefined
  /** What clients see of the agents, in the order of `names`. */
  describe(): readonly AgentDescription[]
}
export interface AgentDescription {
  /** `agt_` and the name. */
  readonly id: string
  readonly name: string
  readonly description: string | null
  /** The model's name. */
  readonly model: string
  readonly mode: SessionMode
  readonly tools: readonly ToolDescription[]
  readonly approvalRules: readonly ApprovalRuleDescription[]
  readonly limits: AgentLimits
}
export interface ApprovalRuleDescription {
  readonly tool: string
  readonly description: string | null
  readonly reviewers: readonly string[]
  readonly expiresAfterMs: number | null
  readonly onExpire: ApprovalDecision
}
export interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly outputSchema: JsonObject | null
  readonly kind: CompiledTool['kind']
  readonly approval: CompiledTool['approvalKind']
  readonly idempotent: boolean
}

/**
 * `resolveModel` is called once for each agent, now, with the name of the agent that asks. Throws PerdureError AGENT_INVALID when two
 * agents share a name, and what `resolveModel` throws.
 */
export function createRegistry(agents: readonly Agent[], resolveModel: ResolveModel): AgentRegistry {
  const entries = new Map<string, { readonly port: AgentPort; readonly description: AgentDescription }>()
  for (const agent of agents) {
    if (entries.has(agent.name)) {
      throw new PerdureError('AGENT_INVALID', `two agents are called "${agent.name}"; give one of them another name`)
    }
    const port = toAgentPort(agent, resolveModel(agent.model, agent.name))
    entries.set(agent.name, { port, description: describeAgent(agent, port.model.name) })
  }
  const names = [...entries.keys()].sort()
  const descriptions = names.flatMap((name) => entries.get(name)?.description ?? [])
  return { names, get: (name) => entries.get(name)?.port, describe: () => descriptions }
}

function toAgentPort(agent: Agent, model: ModelClient): AgentPort {
  const tools = new Map<string, ToolPort>([...agent.tools].map(([name, tool]) => [name, toToolPort(name, tool, agent.approvals)]))
  const port = { name: agent.name, mode: agent.mode, model, tools, limits: agent.limits, instructions: () => readInstructions(agent) }
  return Object.keys(agent.hooks).length === 0 ? port : { ...port, notify: toNotify(agent.hooks) }
}

/** A rule that asks comes before the leave of the tool's own policy; what that denies stays denied. */
function toToolPort(name: string, { policy, approvalKind: _, kind: __, ...tool }: CompiledTool, rules: readonly ApprovalRule[]): ToolPort {
  const rule = tool.question === undefined ? rulesFor(name, rules) : null
  if (policy === null && rule === null) return { ...tool, name }
  const approval: ToolPort['approval'] = async (context) => {
    const label = tool.label(context.input) ?? name
    const own: Verdict = policy === null ? { kind: 'allow' } : await policy(context, label)
    if (own.kind === 'deny' || rule === null) return own
    const ruled = await rule(context, label)
    return ruled.kind === 'allow' ? own : ruled
  }
  return { ...tool, name, approval }
}

function readInstructions(agent: Agent): string | Promise<string> {
  if (typeof agent.instructions === 'string') return agent.instructions
  const given = agent.instructions()
  return typeof given === 'string' ? given : Promise.resolve(given).then((text: unknown) => checkInstructions(agent.name, text))
}

function checkInstructions(name: string, text: unknown): string {
  if (typeof text === 'string') return text
  throw new PerdureError('AGENT_INVALID', `agent "${name}": its function for instructions must give a text, and gave ${typeof text}`)
}

function describeAgent(agent: Agent, model: string): AgentDescription {
  const { name, description, mode, limits } = agent
  const approvalRules = agent.approvals.map(describeRule)
  const tools = [...agent.tools].map(([toolName, tool]) => describeTool(toolName, tool))
  return { id: `agt_${name}`, name, description, model, mode, tools, approvalRules, limits }
}

function describeTool(name: string, tool: CompiledTool): ToolDescription {
  const { description, inputSchema, outputSchema, idempotent, kind, approvalKind: approval } = tool
  return { name, description, inputSchema, outputSchema, kind, approval, idempotent }
}

function describeRule({ tool, description, reviewers, expiresAfterMs, onExpire }: ApprovalRule): ApprovalRuleDescription {
  return {
    ...{ tool, description: description ?? null, reviewers: (reviewers ?? []).map(toReviewer) },
    ...{ expiresAfterMs: expiresAfterMs ?? null, onExpire: onExpire ?? 'DENY' },
  }
}
