/**
 * Whatever has an id, found again: one statement a type, and only what hangs on a session that the caller may see, or on
 * a request that it may answer.
 */
import { isId } from '../ids.js'
import { visibleTo } from './access.js'
import { answerableTo } from './request-access.js'
import type { AgentDescription } from '../agents/registry.js'
import type { GraphqlContext } from './context.js'

/** A row that says of which type it is. */
type Found = { readonly id: string; readonly __typename: string }

/** In the order of `ids`; null for what is not there, or not for this caller. */
export async function loadNodes(ids: readonly string[], context: GraphqlContext): Promise<(Found | null)[]> {
  const { services, caller, sessions, requests } = context
  const { prisma } = services
  const session = visibleTo(caller)
  const named = (prefix: 'ses' | 'turn' | 'stp' | 'call' | 'req' | 'dlv') => [...new Set(ids.filter((id) => isId(prefix, id)))]
  const found = await Promise.all([
    read('Session', named('ses'), (wanted) => sessions.match(wanted, {})),
    read('Turn', named('turn'), (wanted) => prisma.turn.findMany({ where: { id: { in: wanted }, session } })),
    read('Step', named('stp'), (wanted) => prisma.step.findMany({ where: { id: { in: wanted }, turn: { session } } })),
    read('ToolCall', named('call'), (wanted) =>
      prisma.toolCall.findMany({ where: { id: { in: wanted }, OR: [{ session }, { requests: { some: answerableTo(caller) } }] } }),
    ),
    read('InputRequest', named('req'), (wanted) => requests.match(wanted)),
    read('Delivery', named('dlv'), (wanted) => prisma.delivery.findMany({ where: { id: { in: wanted }, session } })),
  ])
  const byId = new Map([...found.flat(), ...services.agents.describe().map(toNode)].map((node) => [node.id, node]))
  return ids.map((id) => byId.get(id) ?? null)
}

async function read(
  __typename: string,
  ids: string[],
  find: (ids: string[]) => Promise<readonly { readonly id: string }[]>,
): Promise<Found[]> {
  return ids.length === 0 ? [] : (await find(ids)).map((row) => ({ ...row, __typename }))
}

function toNode(agent: AgentDescription): Found {
  return { ...agent, __typename: 'Agent' }
}
