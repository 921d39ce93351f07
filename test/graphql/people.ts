/** Sessions that ask people: an agent that does, and requests as rows, of sessions that nobody drives. */
import { z } from 'zod'
import { createIdSource, type RequestId, type SessionId } from '../../server/ids.js'
import { askUser, defineAgent, defineTool, scripted } from '../../server/index.js'
import { answerableBy, askApproval, type Request, type RequestKind } from '../../server/session/requests.js'
import type { Principal } from '../../server/session/principal.js'
import type { Api } from './api.js'

const refund = defineTool({
  description: 'Pays an order back.',
  input: z.object({ order: z.number() }),
  execute: ({ order }) => ({ paid: order }),
})
const wire = defineTool({ description: 'Wires money.', input: z.object({}), approval: 'always', execute: () => 'wired' })

const rush = defineTool({
  description: 'Is in a hurry.',
  input: z.object({}),
  approval: () => ({ ask: { reviewers: ['role:manager'], expiresAfterMs: 200 } }),
  execute: () => 'rushed',
})

/** Calls what it is told to: `refund` is for managers to allow, `rush` too, and soon; `wire` for whom the turn serves; `ask` asks him. */
export const CLERK = defineAgent({
  name: 'clerk',
  instructions: 'You work at the desk.',
  model: scripted(({ lastUserText, step, toolResults }) => {
    if (step > 0) return `Read: ${toolResults.map(({ text }) => text).join(' ')}`
    return { calls: lastUserText.split('+').map(toCall) }
  }),
  tools: { refund, wire, rush, ask: askUser() },
  approvals: [{ tool: 'refund', description: 'Money leaves.', reviewers: ['role:manager'], expiresAfterMs: 3_600_000 }],
})

function toCall(words: string) {
  const [name = '', ...rest] = words.trim().split(' ')
  if (name === 'refund') return { name, input: { order: Number(rest[0]) } }
  const options = rest.map((label) => ({ label }))
  return name === 'ask' ? { name, input: { question: 'Which?', ...(options.length > 0 && { options }) } } : { name }
}

export const ANN_USER: Principal = { tenant: 'default', id: 'ann', kind: 'USER' }
const ids = createIdSource()

/** An open request of a session, as a commit of its driver would have written it: an approval by whom the turn serves, ann. */
export async function insertRequest(api: Api, sessionId: SessionId, change: Partial<Request> = {}): Promise<RequestId> {
  const { expiresAfterMs: _, ...spec } = askApproval('Allow it?')
  const placed = {
    turnId: ids.next('turn'),
    callId: null,
    inputHash: null,
    served: ANN_USER,
    openedAt: Date.now(),
    openedAfter: 0,
    expiresAt: null,
  }
  const request: Request = { ...spec, ...placed, id: ids.next('req'), ...change }
  const { options, minSelections, maxSelections, allowsText, onExpire, grants, url, served } = request
  const details = { options, minSelections, maxSelections, allowsText, onExpire, grants, url, served }
  const session = await api.prisma.session.findUniqueOrThrow({ where: { id: sessionId } })
  await api.prisma.request.create({
    data: {
      ...{
        id: request.id,
        tenant: session.tenant,
        sessionId,
        agentName: session.agentName,
        turnId: request.turnId,
        toolCallId: request.callId,
      },
      ...{
        kind: request.kind,
        prompt: request.prompt,
        details: JSON.parse(JSON.stringify(details)) as object,
        reviewers: [...request.reviewers],
      },
      ...{ answerableBy: [...answerableBy(request)], openedAfter: 0, createdAt: new Date(request.openedAt) },
      expiresAt: request.expiresAt === null ? null : new Date(request.expiresAt),
    },
  })
  return request.id
}

/** A question of a kind, with options of these ids. */
export function question(kind: RequestKind, optionIds: readonly string[], change: Partial<Request> = {}): Partial<Request> {
  const options = optionIds.map((id) => ({ id, label: id, description: null }))
  return { kind, options, allowsText: options.length === 0, minSelections: 0, maxSelections: Math.min(1, options.length), ...change }
}

interface Shown {
  readonly session: { readonly requests: { readonly nodes: readonly { readonly id: RequestId; readonly kind: RequestKind }[] } }
}

/** Tells the clerk as ann, and gives the requests that it then waits for. */
export async function tell(api: Api, text: string): Promise<{ readonly sessionId: SessionId; readonly requests: readonly RequestId[] }> {
  const sessionId = await api.world.open('clerk', text, ANN_USER)
  await api.world.until(sessionId, (log) => log.some(({ type }) => type === 'TURN_WAITING'))
  const query = `query ($id: ID!) { session(id: $id) { requests(status: [PENDING]) { nodes { id kind } } } }`
  const { data } = await api.as<Shown>('ann', query, { id: sessionId })
  return { sessionId, requests: data.session.requests.nodes.map(({ id }) => id) }
}
