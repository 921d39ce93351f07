/** Sessions, turns and payloads of the fake, as the schema has them. */
import { GraphQLError } from 'graphql'
import { USER, type FakeDelivery, type FakeLog, type FakeSession } from './fake-log.js'
import { matchesFilter, toNode, type FakeRequests } from './fake-requests.js'

const AT = '2026-01-01T00:00:00.000Z'
const USAGE = { incomplete: true }
const TURN = {
  ...{ __typename: 'Turn', number: 3, status: 'COMPLETED', trigger: 'MESSAGE', userInput: '' },
  ...{ usage: USAGE, startedAt: AT, activeMs: 1, servedPrincipal: USER },
}

export interface RequestsArgs {
  readonly status?: readonly string[] | null
}

export function toRequests({ all }: FakeRequests, { id }: FakeSession, of: RequestsArgs): object {
  const nodes = all.filter((request) => request.sessionId === id && matchesFilter(request, of))
  return { nodes: nodes.map(toNode), pageInfo: { hasNextPage: false, endCursor: null } }
}

/** As its log has it. */
function statusOf({ sessions }: FakeLog, turnId: string): string {
  const events = [...sessions.values()].flatMap(({ log }) => log.filter((event) => event.turnId === turnId))
  const last = events.map(({ type }) => TURN_STATUS.get(type)).findLast((status) => status !== undefined)
  return last ?? TURN.status
}

const TURN_STATUS: ReadonlyMap<string, string> = new Map([
  ['TURN_STARTED', 'RUNNING'],
  ['TURN_WAITING', 'WAITING'],
  ['TURN_RESUMED', 'RUNNING'],
  ['TURN_COMPLETED', 'COMPLETED'],
  ['TURN_CANCELLED', 'CANCELLED'],
])

export function toTurn(log: FakeLog, id: string): object {
  return { ...TURN, id, status: statusOf(log, id) }
}

export function toPayload(
  session: FakeSession,
  delivery: FakeDelivery,
  how: { readonly created: boolean; readonly duplicate: boolean },
): object {
  return { __typename: 'SendPayload', session: toSession(session), delivery: toDelivery(delivery), ...how }
}

function toDelivery(delivery: FakeDelivery): object {
  return { position: 1, kind: 'MESSAGE', policy: 'STEER', by: USER, acceptedAt: AT, ...delivery }
}

export function toSession(session: FakeSession | null): object | null {
  if (session === null) return null
  const facts = {
    mode: 'CONVERSATION',
    metadata: {},
    createdAt: AT,
    updatedAt: AT,
    owner: USER,
    addresses: [],
    deployment: 'd',
    usage: USAGE,
  }
  return {
    __typename: 'Session',
    id: session.id,
    agentName: session.agent,
    status: session.endedAt === null ? 'IDLE' : 'COMPLETED',
    title: session.title,
    endedAt: session.endedAt,
    ...facts,
    cursor: String(session.log.length),
    events: (args: { last: number; before?: string | null; types?: readonly string[] | null }) => {
      const until = args.before == null ? Infinity : Number(args.before)
      const all = session.log.filter((event) => Number(event.cursor) < until && (args.types == null || args.types.includes(event.type)))
      const nodes = all.slice(-args.last)
      return { nodes, pageInfo: { hasPreviousPage: nodes.length < all.length, startCursor: nodes[0]?.cursor ?? null } }
    },
    deliveries: ({ status }: { status: readonly string[] }) => ({
      nodes: session.deliveries.filter((delivery) => status.includes(delivery.status)).map(toDelivery),
    }),
    turns: () => {
      throw new GraphQLError('not in the fake')
    },
  }
}
