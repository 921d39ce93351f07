import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isInterfaceType, isObjectType } from 'graphql'
import { buildSchema } from '../../server/graphql/schema.js'
import { toTypeName } from '../../server/graphql/types/event.js'
import type { SessionId } from '../../server/ids.js'
import type { EventType } from '../../server/session/events.js'
import { converse, startApi, type Api } from './api.js'

let api: Api
let told: SessionId
const ANN = 'ann'

beforeAll(async () => {
  api = await startApi()
  told = await converse(api, ANN, ['time', 'bye'], 'test:told')
  await converse(api, ANN, ['one'])
  await converse(api, ANN, ['two'])
})
afterAll(() => api.close())

describe('a session', () => {
  it('is shown with its turns, steps, calls, deliveries, usage and times', async () => {
    const { data, errors } = await api.as<{ session: unknown }>(ANN, WHOLE_SESSION, { id: told })
    expect(errors).toBeUndefined()
    const call = {
      name: 'clock',
      label: null,
      input: {},
      output: { hour: 12 },
      status: 'COMPLETED',
      error: null,
      outputTruncatedBytes: null,
    }
    expect(data.session).toMatchObject({
      __typename: 'Session',
      id: told,
      agent: { id: 'agt_hello', name: 'hello' },
      status: 'IDLE',
      owner: { tenant: 'default', id: 'ann', kind: 'USER', name: null },
      addresses: ['test:told'],
      currentTurn: null,
      usage: { incomplete: false },
      turns: {
        nodes: [
          {
            number: 1,
            status: 'COMPLETED',
            trigger: 'MESSAGE',
            session: { id: told },
            userInput: 'time',
            assistantOutput: 'Hello, time!',
            servedPrincipal: { id: 'ann' },
            deliveries: [
              { kind: 'MESSAGE', text: 'time', policy: 'STEER', status: 'APPLIED', position: 1, by: { id: 'ann' }, turn: { number: 1 } },
            ],
            steps: {
              nodes: [
                { index: 0, toolCalls: [call, call], finishReason: 'TOOL_CALLS', turn: { number: 1 } },
                { index: 1, toolCalls: [] },
              ],
            },
            toolCalls: { nodes: [{ stepIndex: 0 }, { stepIndex: 0 }] },
          },
          { number: 2, userInput: 'bye' },
        ],
      },
      transcript: [
        { role: 'USER', text: 'time' },
        { role: 'ASSISTANT', text: 'Let me look.' },
        { role: 'ASSISTANT', text: 'Hello, time!' },
        { role: 'USER', text: 'bye' },
        { role: 'ASSISTANT', text: 'Hello, bye!' },
      ],
    })
  })

  it('sums tokens and measures turns', async () => {
    const query = `query ($id: ID!) { session(id: $id) { usage { totalTokens promptTokens completionTokens }
      turns { nodes { latencyMs activeMs usage { totalTokens } toolCalls { nodes { durationMs } } } } } }`
    type Sum = { totalTokens: number; promptTokens: number; completionTokens: number }
    type Data = { session: { usage: Sum; turns: { nodes: { latencyMs: number; activeMs: number; usage: Sum }[] } } }
    const { usage, turns } = (await api.as<Data>(ANN, query, { id: told })).data.session
    expect(usage.totalTokens).toBe(usage.promptTokens + usage.completionTokens)
    expect(usage.totalTokens).toBe(turns.nodes.reduce((sum, turn) => sum + turn.usage.totalTokens, 0))
    for (const turn of turns.nodes) expect(turn.latencyMs).toBeGreaterThanOrEqual(turn.activeMs)
  })

  it('is found by its address, and nobody else is', async () => {
    const query = `{ held: sessionByAddress(address: "test:told") { id } free: sessionByAddress(address: "test:nobody") { id } }`
    expect((await api.as(ANN, query)).data).toEqual({ held: { id: told }, free: null })
  })

  it('tells the newest words of its transcript only, within bounds', async () => {
    const query = `query ($max: Int) { sessionByAddress(address: "test:told") { transcript(maxMessages: $max) { text } } }`
    expect((await api.as(ANN, query, { max: 2 })).data).toEqual({
      sessionByAddress: { transcript: [{ text: 'bye' }, { text: 'Hello, bye!' }] },
    })
    for (const max of [0, -1, 1001]) expect((await api.as(ANN, query, { max })).errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT')
  })

  it('has a cursor that nothing it shows is newer than', async () => {
    const query = `query ($id: ID!) { session(id: $id) { cursor events(last: 1) { nodes { cursor id } pageInfo { hasPreviousPage hasNextPage } } } }`
    const { data } = await api.as<{ session: { cursor: string; events: { nodes: { cursor: string; id: string }[] } } }>(ANN, query, {
      id: told,
    })
    const [newest] = data.session.events.nodes
    expect(newest?.cursor).toBe(data.session.cursor)
    expect(newest?.id).toBe(`evt_${told.slice('ses_'.length)}_${data.session.cursor}`)
    const [heads, sessions] = (api.takeStatements(), await api.as(ANN, query, { id: told }), api.takeStatements())
    expect(heads).toContain('FROM "public"."session_head"')
    expect(sessions).toContain('FROM "public"."session" ')
  })
})

describe('events', () => {
  it('have every field of their data as a field of their type', async () => {
    const query = `query ($id: ID!) { session(id: $id) { events(first: 200) { nodes { __typename type data sessionId turnId stepIndex attempt at } } } }`
    type Node = { __typename: string; type: EventType; data: object; sessionId: string }
    const { data } = await api.as<{ session: { events: { nodes: Node[] } } }>(ANN, query, { id: told })
    const { nodes } = data.session.events
    expect(new Set(nodes.map(({ type }) => type)).size).toBeGreaterThan(12)
    const schema = buildSchema()
    for (const event of nodes) {
      expect(event).toMatchObject({ __typename: toTypeName(event.type), sessionId: told })
      const type = schema.getType(event.__typename)
      if (!isObjectType(type)) throw new Error(`${event.__typename} is no object type`)
      const shared = type
        .getInterfaces()
        .filter(isInterfaceType)
        .flatMap((parent) => Object.keys(parent.getFields()))
      expect(
        Object.keys(type.getFields())
          .filter((name) => !shared.includes(name))
          .sort(),
      ).toEqual(Object.keys(event.data).sort())
    }
  })

  it('can be asked for by type, and what retracts text comes with text', async () => {
    const query = `query ($id: ID!, $types: [SessionEventType!]) { session(id: $id) { events(types: $types) { nodes { type } } } }`
    type Data = { session: { events: { nodes: { type: EventType }[] } } }
    const { data } = await api.as<Data>(ANN, query, { id: told, types: ['TURN_STARTED', 'TURN_COMPLETED'] })
    expect(data.session.events.nodes.map(({ type }) => type)).toEqual(['TURN_STARTED', 'TURN_COMPLETED', 'TURN_STARTED', 'TURN_COMPLETED'])
  })
})

describe('agents', () => {
  it('are listed by name, with their tools and limits', async () => {
    const query = `{ agents { name description model mode tools { name inputSchema outputSchema idempotent } limits { maxIterationsPerTurn turnTimeoutMs } } }`
    const { data } = await api.as<{ agents: unknown[] }>(ANN, query)
    expect(data.agents).toMatchObject([
      { name: 'hello', description: 'Greets people.', tools: [{ name: 'clock', inputSchema: { type: 'object' }, idempotent: false }] },
      { name: 'support', description: null, tools: [], limits: { maxIterationsPerTurn: 200, turnTimeoutMs: 1_800_000 } },
    ])
  })

  it('have sessions', async () => {
    const query = `{ agent(name: "hello") { sessions { nodes { id } } } nobody: agent(name: "helo") { id } }`
    const { data } = await api.as<{ agent: { sessions: { nodes: unknown[] } }; nobody: null }>(ANN, query)
    expect(data.agent.sessions.nodes).toHaveLength(3)
    expect(data.nobody).toBeNull()
  })
})

describe('node and nodes', () => {
  it('find sessions, turns, steps, tool calls, deliveries and agents again, in the order of the ids', async () => {
    const query = `query ($id: ID!) { session(id: $id) { id agent { id } deliveries(first: 1) { nodes { id } } turns(first: 1) { nodes { id
      steps(first: 1) { nodes { id } } toolCalls(first: 1) { nodes { id } } } } } }`
    type One = { nodes: { id: string }[] }
    type Data = { session: { agent: { id: string }; deliveries: One; turns: { nodes: { id: string; steps: One; toolCalls: One }[] } } }
    const { session } = (await api.as<Data>(ANN, query, { id: told })).data
    const [turn] = session.turns.nodes
    const ids = [turn?.toolCalls, turn?.steps, session.turns, session.deliveries].map((list) => list?.nodes[0]?.id ?? '')
    const wanted = [...ids, session.agent.id, told, 'turn_nothing', 'evt_1_1', '']
    const { data, errors } = await api.as<{ nodes: unknown; node: unknown }>(
      ANN,
      'query ($ids: [ID!]!, $id: ID!) { nodes(ids: $ids) { __typename id } node(id: $id) { __typename id } }',
      { ids: wanted, id: told },
    )
    expect(errors).toBeUndefined()
    const types = ['ToolCall', 'Step', 'Turn', 'Delivery', 'Agent', 'Session']
    expect(data.nodes).toEqual([...types.map((__typename, index) => ({ __typename, id: wanted[index] })), null, null, null])
    expect(data.node).toEqual({ __typename: 'Session', id: told })
  })

  it('find at most 100 at once', async () => {
    const { errors } = await api.as(ANN, 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', {
      ids: Array.from({ length: 101 }, () => told),
    })
    expect(errors?.[0]?.message).toBe('ids has 101 items; at most 100 are found at once.')
  })
})

describe('what a query costs', () => {
  it('a page of sessions with two relations takes at most 4 statements, whatever its size (no N+1)', async () => {
    api.takeStatements()
    const query = `{ sessions(first: 50) { nodes { id status cursor agent { name } owner { id } addresses
      turns(last: 5) { nodes { number userInput usage { totalTokens } activeMs } } } } }`
    const { data } = await api.as<{ sessions: { nodes: { turns: { nodes: unknown[] } }[] } }>(ANN, query)
    expect(data.sessions.nodes.map(({ turns }) => turns.nodes.length)).toEqual([1, 1, 2])
    expect(api.takeStatements().length).toBeLessThanOrEqual(4)
  })

  it('each further level of relations takes one statement more', async () => {
    api.takeStatements()
    const query = `{ sessions(first: 20) { nodes { turns(first: 20) { nodes { deliveries { id } steps { nodes { toolCalls { name } } } toolCalls { nodes { name } } } } } } }`
    expect((await api.as(ANN, query)).errors).toBeUndefined()
    expect(api.takeStatements()).toHaveLength(7)
  })

  it('nodes of several types take one statement a type, and one more for sessions', async () => {
    api.takeStatements()
    const ids = [told, told, 'turn_01jd9x0k3vf8h8s6q2m4n7p9r1', 'turn_01jd9x0k3vf8h8s6q2m4n7p9r2', 'dlv_01jd9x0k3vf8h8s6q2m4n7p9r1']
    await api.as(ANN, 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids })
    expect(api.takeStatements()).toHaveLength(4)
  })
})

const WHOLE_SESSION = `query ($id: ID!) { session(id: $id) {
  __typename id agentName agent { id name } mode status title metadata createdAt updatedAt endedAt endReason error { code }
  owner { tenant id kind name } addresses deployment currentTurn { id } usage { incomplete } transcript { role text }
  turns { nodes {
    number status trigger session { id } servedPrincipal { id } userInput assistantOutput error { code } startedAt endedAt
    deliveries { kind text policy status position by { id } turn { number } acceptedAt settledAt rejection { code } }
    steps { nodes { index attempt status model text reasoning finishReason turn { number } usage { totalTokens } error { code }
      toolCalls { name label input output status error { code } outputTruncatedBytes durationMs } } }
    toolCalls { nodes { stepIndex turnId } }
  } }
  deliveries(status: [APPLIED]) { nodes { sessionId } }
} }`
