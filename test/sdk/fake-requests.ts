/** What sessions of the fake ask of people: opened, answered and settled by the tests, read and answered through the API. */
import type { InputRequestInfo } from '../../sdk/input-request.js'
import { brand, USER, type FakeLog, type FakeSession } from './fake-log.js'

const AT = '2026-01-01T00:00:00.000Z'

type Value = Partial<NonNullable<InputRequestInfo['acceptedAnswer']>>
/** As the schema has it. */
export type FakeRequest = Omit<InputRequestInfo, 'acceptedAnswer' | 'status'> & {
  status: InputRequestInfo['status']
  answer: InputRequestInfo['acceptedAnswer']
}
type Asked = Partial<
  Pick<FakeRequest, 'kind' | 'prompt' | 'options' | 'maxSelections' | 'allowsText' | 'reviewers' | 'toolCallId' | 'agentName'>
>

export interface FakeRequests {
  readonly all: FakeRequest[]
  /** Opens one, and says so in the log. Default: an approval of a call. */
  ask(session: FakeSession, turnId: string, asked?: Asked): FakeRequest
  /** Accepts an answer; the log does not tell yet. */
  accept(request: FakeRequest, value: Value): void
  /** The log tells. */
  resolve(request: FakeRequest, outcome?: 'ANSWERED' | 'EXPIRED'): void
  /** What a request was turned into, for whoever follows the queue. */
  announce(request: FakeRequest): void
  /** Resolvers. */
  readonly root: object
}

export function createFakeRequests(log: FakeLog): FakeRequests {
  const all: FakeRequest[] = []
  const changes: FakeRequest[] = []
  let ids = 0
  const waiting = new Set<() => void>()
  const announce = (request: FakeRequest): void => {
    changes.push({ ...request })
    const woken = [...waiting]
    waiting.clear()
    for (const wake of woken) wake()
  }
  async function* follow(from: number, matches: (request: FakeRequest) => boolean): AsyncGenerator<object, void, void> {
    for (let at = from; ; at += 1) {
      while (changes.length <= at) await new Promise<void>((resolve) => waiting.add(resolve))
      const change = changes[at]
      if (change !== undefined && matches(change)) yield { inputRequestChanged: toNode(change) }
    }
  }
  const requests: FakeRequests = {
    all,
    announce,
    ask(session, turnId, asked = {}) {
      const request = newRequest(`req_${++ids}`, session, turnId, asked)
      all.push(request)
      recordOpened(log, session, request)
      announce(request)
      return request
    },
    accept(request, value) {
      request.status = 'ANSWERED'
      request.answer = { decision: null, optionIds: [], text: null, json: null, reason: null, by: USER, at: AT, ...value }
      announce(request)
    },
    resolve(request, outcome = 'ANSWERED') {
      if (request.status === 'PENDING') request.status = outcome
      const { answer, turnId } = request
      const told = { request: brand<never>(request.id), outcome, by: answer === null ? null : USER, reason: answer?.reason ?? null }
      const session = log.find(request.sessionId)
      if (request.kind === 'APPROVAL')
        log.append(session, 'APPROVAL_RESOLVED', { ...told, decision: answer?.decision ?? 'DENY' }, { turnId })
      else
        log.append(
          session,
          'INPUT_RESOLVED',
          { ...told, optionIds: answer?.optionIds ?? [], text: answer?.text ?? null, json: null },
          { turnId },
        )
      announce(request)
    },
    root: {
      inputRequests: ({ first: most, after, ...filter }: ListArgs) => {
        const first = most ?? 2
        const found = all.filter((request) => matchesFilter(request, filter)).reverse()
        const from = found.findIndex(({ id }) => id === after) + 1
        const nodes = found.slice(from, from + first)
        return {
          nodes: nodes.map(toNode),
          pageInfo: { hasNextPage: from + first < found.length, endCursor: nodes.at(-1)?.id ?? null },
        }
      },
      nodes: ({ ids }: { ids: readonly string[] }) =>
        ids.map((id) => all.find((request) => request.id === id)).map((request) => (request === undefined ? null : toNode(request))),
      // Follows from the moment that it is asked, whenever the first item is.
      inputRequestChanged: (filter: Filter) => follow(changes.length, (request) => matchesFilter(request, filter)),
      respond: ({ input }: { input: RespondInput }) => respond(requests, log, input),
    },
  }
  const keys = new Map<string, string>()
  function respond({ accept }: FakeRequests, { sessions }: FakeLog, { answers, idempotencyKey, session: { id } }: RespondInput): object {
    const session = sessions.get(id)
    const payload = (duplicate: boolean, delivery: string): object => ({
      __typename: 'DeliveryPayload',
      delivery: { id: delivery, sessionId: id, position: 1, kind: 'ANSWERS', status: 'ACCEPTED', by: USER, acceptedAt: AT },
      duplicate,
    })
    const known = keys.get(idempotencyKey)
    if (known !== undefined) return payload(true, known)
    const asked = answers.map(({ requestId, ...answer }) => ({ answer, request: all.find((request) => request.id === requestId) }))
    const closed = asked.flatMap(({ request }) => (request === undefined || request.status === 'PENDING' ? [] : [request]))
    if (session === undefined || asked.some(({ request }) => request === undefined)) {
      return { __typename: 'NotFoundError', code: 'NOT_FOUND', message: 'there is no such request', id: null }
    }
    if (closed.length > 0) {
      const message = 'it is not open any more'
      return { __typename: 'RequestNotPendingError', code: 'REQUEST_NOT_PENDING', message, requests: closed.map(toNode) }
    }
    for (const { request, answer } of asked) if (request !== undefined) accept(request, { ...answer.value, reason: answer.reason ?? null })
    keys.set(idempotencyKey, `dlv_answers_${keys.size}`)
    return payload(false, `dlv_answers_${keys.size - 1}`)
  }
  return requests
}

interface Filter {
  readonly status?: readonly string[] | null
  readonly kind?: readonly string[] | null
  readonly agent?: readonly string[] | null
}
interface ListArgs extends Filter {
  readonly first?: number | null
  readonly after?: string | null
}
interface RespondInput {
  readonly session: { readonly id: string }
  readonly answers: readonly { readonly requestId: string; readonly value: Value; readonly reason?: string | null }[]
  readonly idempotencyKey: string
}

export function matchesFilter(request: FakeRequest, { status, kind, agent }: Filter): boolean {
  const isOne = (wanted: readonly string[] | null | undefined, one: string): boolean => wanted == null || wanted.includes(one)
  return isOne(status, request.status) && isOne(kind, request.kind) && isOne(agent, request.agentName)
}

export function toNode(request: FakeRequest): object {
  return { __typename: 'InputRequest', ...request, sessionStatus: 'WAITING_FOR_APPROVAL' }
}

function newRequest(id: string, { id: sessionId, agent }: FakeSession, turnId: string, asked: Asked): FakeRequest {
  const kind = asked.kind ?? 'APPROVAL'
  const choice = { options: kind === 'APPROVAL' ? DECISIONS : [], minSelections: 1, maxSelections: 1, allowsText: false, reviewers: [] }
  return {
    ...{ id, sessionId, sessionTitle: null, agentName: agent, turnId, toolCallId: kind === 'LIMIT' ? null : `call_${id}`, toolCall: null },
    ...{ kind, status: 'PENDING', prompt: 'May I?', ...choice, authorizationUrl: null, createdAt: AT, expiresAt: null, answer: null },
    ...asked,
  }
}

const DECISIONS = [
  { id: 'approve', label: 'Approve', description: null },
  { id: 'deny', label: 'Deny', description: null },
]

function recordOpened(log: FakeLog, session: FakeSession, request: FakeRequest): void {
  const { kind, prompt, reviewers, turnId, toolCallId } = request
  const callId = toolCallId === null ? null : brand<never>(toolCallId)
  const base = { request: brand<never>(request.id), callId, prompt, reviewers, expiresAt: null }
  const { options, minSelections, maxSelections, allowsText } = request
  if (kind === 'APPROVAL') log.append(session, 'APPROVAL_REQUESTED', { ...base, name: 'refund', input: { amount: 240 } }, { turnId })
  else if (kind === 'AUTHORIZATION') log.append(session, 'AUTHORIZATION_REQUIRED', { ...base, url: null }, { turnId })
  else log.append(session, 'INPUT_REQUESTED', { ...base, kind, options, minSelections, maxSelections, allowsText }, { turnId })
}
