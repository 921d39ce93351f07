import { storedId } from '../../ids.js'
import { builder } from '../builder.js'
import type { GraphqlContext } from '../context.js'
import { badUserInput } from '../errors.js'
import { MAX_NODES, pageComplexity } from '../limits.js'
import { loadNodes } from '../nodes.js'
import type { SessionRow } from '../sessions.js'
import { Agent } from './agent.js'
import { InputRequestKind, InputRequestStatus } from './enums.js'
import { Principal } from './facts.js'
import { SessionFilterInput } from './filter.js'
import { Node } from './node.js'
import { InputRequest, InputRequestConnection } from './request.js'
import { Session, SessionConnection } from './session.js'

builder.queryFields((t) => ({
  node: t.field({
    type: Node,
    nullable: true,
    description: 'A session, turn, step, tool call, request, delivery or agent by its id; null when the caller may not see it.',
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: async (_, { id }, context) => (await loadNodes([id], context))[0] ?? null,
  }),
  nodes: t.field({
    type: [Node],
    nullable: { list: false, items: true },
    description: `Several at once, in the order of their ids, at most ${MAX_NODES}.`,
    args: { ids: t.arg.idList({ required: true, description: 'Their ids.' }) },
    complexity: ({ ids }) => ({ field: 1, multiplier: ids.length }),
    resolve: (_, { ids }, context) => {
      if (ids.length > MAX_NODES) throw badUserInput(`ids has ${ids.length} items; at most ${MAX_NODES} are found at once.`)
      return loadNodes(ids, context)
    },
  }),
  viewer: t.field({ type: Principal, description: 'Who asks.', resolve: (_, __, { caller }) => caller }),
  agents: t.field({
    type: [Agent],
    description: 'The agents that this deployment serves, by name.',
    resolve: (_, __, { services }) => [...services.agents.describe()].sort((one, other) => (one.name < other.name ? -1 : 1)),
  }),
  agent: t.field({
    type: Agent,
    nullable: true,
    description: 'An agent by its name.',
    args: { name: t.arg.string({ required: true, description: 'Its name.' }) },
    resolve: (_, { name }, { services }) => services.agents.describe().find((agent) => agent.name === name) ?? null,
  }),
  session: t.field({
    type: Session,
    nullable: true,
    description: 'A session by its id.',
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: (_, { id }, { sessions }) => sessions.load(id),
  }),
  sessionByAddress: t.field({
    type: Session,
    nullable: true,
    description: 'The open session that holds an address.',
    args: { address: t.arg.string({ required: true, description: 'The address, `channel:value`.' }) },
    resolve: (_, { address }, context) => findHolder(address, context),
  }),
  sessions: t.connection(
    {
      type: Session,
      description: 'The sessions that the caller may see, newest first.',
      args: { filter: t.arg({ type: SessionFilterInput, description: 'Only those that match.' }) },
      complexity: pageComplexity,
      resolve: (_, args, { sessions }) => sessions.list(args, args.filter ?? {}),
    },
    SessionConnection,
  ),
}))

builder.queryField('inputRequests', (t) =>
  t.connection(
    {
      type: InputRequest,
      description: "The reviewer's queue: what the caller may answer, newest first.",
      args: {
        status: t.arg({
          type: [InputRequestStatus],
          defaultValue: ['PENDING'],
          description: 'Only those with one of these statuses; null: all.',
        }),
        kind: t.arg({ type: [InputRequestKind], description: 'Only those of one of these kinds.' }),
        agent: t.arg.stringList({ description: 'Only what one of these agents asks.' }),
      },
      complexity: pageComplexity,
      resolve: (_, args, { requests }) => requests.list(args, args),
    },
    InputRequestConnection,
  ),
)

async function findHolder(address: string, { services, caller, sessions }: GraphqlContext): Promise<SessionRow | null> {
  const holder = await services.store.findAddress(caller.tenant, address)
  return holder === null ? null : sessions.load(storedId('ses', holder))
}
