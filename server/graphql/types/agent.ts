import type { AgentDescription } from '../../agents/registry.js'
import { builder } from '../builder.js'
import { pageComplexity } from '../limits.js'
import { SessionMode } from './enums.js'
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
  }),
})

const Tool = builder.objectRef<AgentDescription['tools'][number]>('Tool').implement({
  description: 'Something that an agent can do.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Unique within its agent.' }),
    description: t.exposeString('description', { description: 'What the model reads about it.' }),
    inputSchema: t.expose('inputSchema', { type: 'JSONObject', description: 'JSON Schema (draft 2020-12) of its arguments.' }),
    outputSchema: t.expose('outputSchema', {
      type: 'JSONObject',
      nullable: true,
      description: 'JSON Schema of what it gives, if it says so.',
    }),
    idempotent: t.exposeBoolean('idempotent', {
      description: 'Whether a call that was running when its worker was lost is run again, under the same id.',
    }),
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
