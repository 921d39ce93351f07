import type { AgentDescription } from '../../agents/registry.js'
import { builder } from '../builder.js'
import { pageComplexity } from '../limits.js'
import { ApprovalDecision, SessionMode } from './enums.js'
import { SessionFilterInput } from './filter.js'
import { Node } from './node.js'
import { Session, SessionConnection } from './session.js'

const AgentLimits = builder.objectRef<AgentDescription['limits']>('AgentLimits').implement({
  description: 'What an agent may use.',
  fields: (t) => ({
    maxIterationsPerTurn: t.exposeInt('maxIterationsPerTurn', {
      description: 'Steps of one turn; one more fails it with TURN_ITERATION_LIMIT.',
    }),
    turnTimeoutMs: t.expose('turnTimeoutMs', {
      type: 'SafeInt',
      description: 'Time that something of a turn may run, milliseconds; then it fails with TURN_TIMEOUT.',
    }),
    sessionTimeoutMs: t.expose('sessionTimeoutMs', {
      type: 'SafeInt',
      nullable: true,
      description: 'How long a session may be idle, milliseconds; then it is COMPLETED with reason TIMEOUT. Null: for ever.',
    }),
    maxInputTokensPerSession: t.expose('maxInputTokensPerSession', {
      type: 'SafeInt',
      nullable: true,
      description: 'Tokens that a session may read before somebody is asked whether it may go on with as many again. Null: no limit.',
    }),
    maxOutputTokensPerSession: t.expose('maxOutputTokensPerSession', {
      type: 'SafeInt',
      nullable: true,
      description: 'Tokens that a session may write before somebody is asked. Null: no limit.',
    }),
    maxCostUsdPerSession: t.exposeFloat('maxCostUsdPerSession', {
      nullable: true,
      description: 'US dollars that a session may cost before somebody is asked, where the provider tells what it costs. Null: no limit.',
    }),
  }),
})

const ToolKind = builder.enumType('ToolKind', {
  description: 'What a tool is made of.',
  values: {
    FUNCTION: { description: "Code of the agent's author." },
    BUILT_IN: { description: 'Comes with Perdure, e.g. to ask a person.' },
    PROVIDER: { description: "Runs at the model's provider, e.g. a web search." },
    SANDBOX: { description: 'Runs in the sandbox of the session.' },
    SUBAGENT: { description: 'Another agent, in a session of its own.' },
    WORKFLOW: { description: 'A fixed sequence of steps.' },
    TASK: { description: 'Goes on while the turn waits.' },
    CONNECTION: { description: 'Belongs to a service that one signs in to.' },
  },
})

const ApprovalPolicy = builder.enumType('ApprovalPolicy', {
  description: 'Whether a call of a tool has to be allowed before it runs, by the tool itself; rules of the agent may ask beside it.',
  values: {
    NEVER: { description: 'It runs without asking.' },
    ONCE: { description: 'Until it was allowed once; from then on it runs for the person that the turn serves.' },
    ALWAYS: { description: 'Somebody is asked before each call.' },
    CONDITIONAL: { description: 'Code judges each call: it runs, it does not, or somebody is asked.' },
  } satisfies { readonly [Each in AgentDescription['tools'][number]['approval']]: { readonly description: string } },
})

const ApprovalRule = builder.objectRef<AgentDescription['approvalRules'][number]>('ApprovalRule').implement({
  description: 'A rule of an agent by which calls have to be allowed before they run.',
  fields: (t) => ({
    tool: t.exposeString('tool', { description: "The tool's name; `*` stands for any characters." }),
    description: t.exposeString('description', { nullable: true, description: 'Why it is there, for people.' }),
    reviewers: t.exposeStringList('reviewers', {
      description: 'Who may decide: `principal:x`, `role:x` or `scope:x`. Empty: whom the turn serves.',
    }),
    expiresAfterMs: t.expose('expiresAfterMs', {
      type: 'SafeInt',
      nullable: true,
      description: 'How long somebody may take to decide, milliseconds; null: for as long as the turn is open.',
    }),
    onExpire: t.expose('onExpire', { type: ApprovalDecision, description: 'What it comes to when nobody decides in time.' }),
  }),
})

const Tool = builder.objectRef<AgentDescription['tools'][number]>('Tool').implement({
  description: 'Something that an agent can do.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Unique within its agent.' }),
    description: t.exposeString('description', { description: 'What the model reads about it.' }),
    kind: t.expose('kind', { type: ToolKind, description: 'What it is made of.' }),
    inputSchema: t.expose('inputSchema', { type: 'JSONObject', description: 'JSON Schema (draft 2020-12) of its arguments.' }),
    outputSchema: t.expose('outputSchema', {
      type: 'JSONObject',
      nullable: true,
      description: 'JSON Schema of what it gives, if it says so.',
    }),
    idempotent: t.exposeBoolean('idempotent', {
      description: 'Whether a call that was running when its worker was lost is run again, under the same id.',
    }),
    approval: t.expose('approval', { type: ApprovalPolicy, description: 'Whether a call has to be allowed before it runs.' }),
  }),
})

export const Agent = builder.objectRef<AgentDescription>('Agent').implement({
  description: "An agent as this deployment's code defines it.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID('id', { description: '`agt_` and the name.' }),
    name: t.exposeString('name', { description: 'How sessions name it.' }),
    description: t.exposeString('description', { nullable: true, description: 'What it is for.' }),
    model: t.exposeString('model', { description: 'The model it talks to, e.g. `openai/gpt-5`.' }),
    mode: t.field({ type: SessionMode, description: 'How long its sessions last.', resolve: ({ mode }) => mode }),
    tools: t.expose('tools', { type: [Tool], description: 'What it can do.' }),
    approvalRules: t.expose('approvalRules', {
      type: [ApprovalRule],
      description: 'By which calls have to be allowed before they run, whatever their tools say; the first that matches holds.',
    }),
    limits: t.expose('limits', { type: AgentLimits, description: 'What it may use.' }),
    sessions: t.connection(
      {
        type: Session,
        description: 'Its sessions that the caller may see, newest first.',
        args: { filter: t.arg({ type: SessionFilterInput, description: 'Only those that match.' }) },
        complexity: pageComplexity,
        resolve: ({ name }, args, { sessions }) => sessions.list(args, { ...args.filter, agent: [name] }),
      },
      SessionConnection,
    ),
  }),
})

builder.prismaObjectField(Session, 'agent', (t) =>
  t.field({
    type: Agent,
    nullable: true,
    description: 'The agent that it talks to; null when this deployment no longer has it.',
    resolve: ({ agentName }, _, { services }) => services.agents.describe().find(({ name }) => name === agentName) ?? null,
  }),
)
