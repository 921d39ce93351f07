/** The statuses of a session as clients meet them: asked for, and told by `sessionChanged`, move by move. */
import { setTimeout as wait } from 'node:timers/promises'
import { createClient } from 'graphql-sse'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { SessionId } from '../../server/ids.js'
import type { SessionStatus } from '../../server/session/status.js'
import { startApi, type Api } from './api.js'
import { ANN, createMutator, type Mutator } from './mutate.js'
import { CLERK } from './people.js'

let api: Api
let mutator: Mutator
/** What was told of each session, in its order. */
const told = new Map<string, SessionStatus[]>()
let leave = (): void => undefined

beforeAll(async () => {
  api = await startApi({ agents: [CLERK] })
  mutator = createMutator(api)
  const client = createClient({ url: api.url, headers: { 'x-caller': ANN }, retryAttempts: 0 })
  const before = api.readers.count
  leave = client.subscribe<{ sessionChanged: { session: { id: string; status: SessionStatus } } }>(
    { query: 'subscription { sessionChanged { session { id status } } }' },
    {
      next: ({ data }) => {
        const session = data?.sessionChanged.session
        if (session !== undefined) told.set(session.id, [...(told.get(session.id) ?? []), session.status])
      },
      error: () => undefined,
      complete: () => undefined,
    },
  )
  await api.readers.until(before + 1)
})
afterAll(async () => {
  leave()
  await api.close()
})

async function open(agent: string, mode = 'CONVERSATION'): Promise<SessionId> {
  const { session } = await mutator.run('createSession', { session: { agent, mode } })
  if (session === undefined) throw new Error('it was not created')
  return session.id
}

const say = (text: string) => (id: SessionId) => mutator.run('send', { to: { session: id }, message: { text } })
const cancel = (id: SessionId) => mutator.run('cancel', { session: { id } })
const end = (id: SessionId) => mutator.run('end', { session: { id } })

/** The first of what it asks: yes, or the first option. */
async function answer(id: SessionId): Promise<unknown> {
  const query = `query ($id: ID!) { session(id: $id) { requests(status: [PENDING]) { nodes { id options { id } } } } }`
  const { data } = await api.as<{ session: { requests: { nodes: readonly { id: string; options: readonly { id: string }[] }[] } } }>(
    ANN,
    query,
    { id },
  )
  const [asked] = data.session.requests.nodes
  return mutator.run('respond', { session: { id }, answers: [{ requestId: asked?.id, value: { optionIds: [asked?.options[0]?.id] } }] })
}

async function statusOf(id: SessionId): Promise<SessionStatus> {
  return (await api.as<{ session: { status: SessionStatus } }>(ANN, 'query ($id: ID!) { session(id: $id) { status } }', { id })).data
    .session.status
}

type Move = readonly [act: (id: SessionId) => Promise<unknown>, to: SessionStatus]
interface LifeOfMoves {
  readonly agent: string
  readonly mode: 'CONVERSATION' | 'TASK'
  readonly moves: readonly Move[]
}
const LIVES: readonly LifeOfMoves[] = [
  {
    agent: 'clerk',
    mode: 'CONVERSATION',
    moves: [
      [say('ask Red Blue'), 'WAITING_FOR_INPUT'],
      [answer, 'IDLE'],
      [end, 'COMPLETED'],
    ],
  },
  {
    agent: 'clerk',
    mode: 'CONVERSATION',
    moves: [
      [say('wire+ask Red'), 'WAITING_FOR_APPROVAL'],
      [answer, 'WAITING_FOR_INPUT'],
      [cancel, 'IDLE'],
      [say('wire'), 'WAITING_FOR_APPROVAL'],
      [end, 'CANCELLED'],
    ],
  },
  {
    agent: 'clerk',
    mode: 'CONVERSATION',
    moves: [
      [say('ask Red'), 'WAITING_FOR_INPUT'],
      [say('never mind'), 'IDLE'],
    ],
  },
  {
    agent: 'clerk',
    mode: 'TASK',
    moves: [
      [say('wire'), 'WAITING_FOR_APPROVAL'],
      [answer, 'COMPLETED'],
    ],
  },
  {
    agent: 'clerk',
    mode: 'TASK',
    moves: [
      [say('ask'), 'WAITING_FOR_INPUT'],
      [end, 'CANCELLED'],
    ],
  },
  {
    agent: 'hello',
    mode: 'CONVERSATION',
    moves: [
      [say('hang'), 'RUNNING'],
      [cancel, 'IDLE'],
      [say('hang'), 'RUNNING'],
      [end, 'CANCELLED'],
    ],
  },
  {
    agent: 'hello',
    mode: 'TASK',
    moves: [
      [say('hang'), 'RUNNING'],
      [cancel, 'CANCELLED'],
    ],
  },
  { agent: 'hello', mode: 'CONVERSATION', moves: [[end, 'COMPLETED']] },
]

it('move as their table says, and each move is told', async () => {
  const lived = await Promise.all(LIVES.map(live))
  expect(lived).toEqual(LIVES.map(({ moves }) => ['CREATED', ...moves.map(([, to]) => to)]))
})

/** The statuses that it came to, each of them asked for and told. */
async function live({ agent, mode, moves }: LifeOfMoves): Promise<readonly string[]> {
  const id = await open(agent, mode)
  const statuses: string[] = [await statusOf(id)]
  for (const [act, to] of moves) {
    await act(id)
    const patience = Date.now() + 15_000
    while (((await statusOf(id)) !== to || told.get(id)?.at(-1) !== to) && Date.now() < patience) await wait(20)
    statuses.push(told.get(id)?.at(-1) === to ? await statusOf(id) : `${to}, which was not told`)
  }
  return statuses
}
