import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createIdSource } from '../../server/ids.js'
import { converse, startApi, type Api } from './api.js'

interface Page {
  readonly edges: readonly { readonly cursor: string; readonly node: { readonly id: string } }[]
  readonly nodes: readonly { readonly id: string }[]
  readonly pageInfo: {
    readonly hasNextPage: boolean
    readonly hasPreviousPage: boolean
    readonly startCursor: string | null
    readonly endCursor: string | null
  }
}
interface Arguments {
  readonly first?: number
  readonly last?: number
  readonly after?: string
  readonly before?: string
}

const PAGE = `{ edges { cursor node { id } } nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`
const ARGUMENTS = '$first: Int, $last: Int, $after: String, $before: String'
const PASSED = 'first: $first, last: $last, after: $after, before: $before'

let api: Api
const newestFirst: string[] = []

beforeAll(async () => {
  api = await startApi()
  const ids = createIdSource()
  for (let count = 0; count < 7; count += 1) {
    const outcome = await api.world.intake.create(
      { tenant: 'default', id: 'ann', kind: 'USER' },
      { agent: 'hello', mode: null, idleTimeoutMs: null, title: `${count}`, metadata: {}, addresses: [], history: [] },
      ids.next('req'),
    )
    if (outcome.kind === 'accepted') newestFirst.unshift(outcome.sessionId)
  }
})
afterAll(() => api.close())

async function list(args: Arguments): Promise<Page> {
  const query = `query (${ARGUMENTS}) { sessions(${PASSED}) ${PAGE} }`
  const { data, errors } = await api.as<{ sessions: Page }>('ann', query, args)
  expect(errors).toBeUndefined()
  return data.sessions
}

/** Relay's algorithm, on the whole list. */
function oracle({ first, last, after, before }: Arguments): readonly string[] {
  const from = after === undefined ? 0 : newestFirst.indexOf(after) + 1
  const to = before === undefined ? newestFirst.length : newestFirst.indexOf(before)
  const between = newestFirst.slice(from, Math.max(from, to))
  if (last !== undefined) return between.slice(Math.max(between.length - last, 0))
  return between.slice(0, first ?? 50)
}

describe('a connection', () => {
  it('gives what the Relay specification says, for every combination of arguments', async () => {
    const size = fc.option(fc.integer({ min: 0, max: 9 }), { nil: undefined })
    const place = fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined })
    await fc.assert(
      fc.asyncProperty(fc.boolean(), size, place, place, async (backward, size, after, before) => {
        const args: Arguments = {
          ...(size !== undefined && (backward ? { last: size } : { first: size })),
          ...(after !== undefined && newestFirst[after] !== undefined && { after: newestFirst[after] }),
          ...(before !== undefined && newestFirst[before] !== undefined && { before: newestFirst[before] }),
        }
        const { nodes, edges, pageInfo } = await list(args)
        expect(nodes.map(({ id }) => id)).toEqual(oracle(args))
        expect(edges.map(({ node }) => node.id)).toEqual(nodes.map(({ id }) => id))
        expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([edges.at(0)?.cursor ?? null, edges.at(-1)?.cursor ?? null])
        const { after: from, before: to } = args
        const whole = oracle({ ...(from !== undefined && { after: from }), ...(to !== undefined && { before: to }) })
        if (args.last === undefined) expect(pageInfo.hasNextPage).toBe(whole.length > nodes.length)
        else expect(pageInfo.hasPreviousPage).toBe(whole.length > nodes.length)
      }),
      { numRuns: 60 },
    )
  })

  it('is walked to its end and back, each item once', async () => {
    const forth: string[] = []
    let after: string | null = null
    for (;;) {
      const page: Page = await list({ first: 3, ...(after !== null && { after }) })
      forth.push(...page.nodes.map(({ id }) => id))
      after = page.pageInfo.endCursor
      if (!page.pageInfo.hasNextPage) break
    }
    expect(forth).toEqual(newestFirst)
    const back = await list({ last: 2, before: forth.at(-1) ?? '' })
    expect(back.nodes.map(({ id }) => id)).toEqual(newestFirst.slice(4, 6))
  })

  it.each([
    [{ first: -1 }, 'first is -1; it must not be negative.'],
    [{ last: -1 }, 'last is -1; it must not be negative.'],
    [{ first: 201 }, 'first is 201; at most 200 fit a page, go on with after or before.'],
    [{ first: 1, last: 1 }, 'Give first or last, not both.'],
    [{ after: 'nonsense' }, 'after: "nonsense" is not a cursor of this list; take one from its edges or pageInfo.'],
  ])('refuses %j', async (args, message) => {
    for (const field of ['sessions', 'agent(name: "hello") { sessions']) {
      const query = `query (${ARGUMENTS}) { ${field}(${PASSED}) { nodes { id } } ${field.includes('{') ? '}' : ''} }`
      const { errors } = await api.as('ann', query, args)
      expect(errors).toMatchObject([{ message, extensions: { code: 'BAD_USER_INPUT' } }])
    }
  })

  it('of turns, calls, deliveries and events goes on where a page ended', async () => {
    const id = await converse(api, 'ann', ['time', 'time', 'bye'], 'test:pages')
    const query = `query ($id: ID!, $turn: String, $call: String, $delivery: String, $event: String) { session(id: $id) {
      turns(first: 1, after: $turn) { nodes { number } pageInfo { endCursor hasNextPage } }
      firstTurn: turns(first: 1) { nodes { toolCalls(first: 1, after: $call) { nodes { id } pageInfo { endCursor hasNextPage } } } }
      deliveries(last: 1, before: $delivery) { nodes { position } pageInfo { startCursor hasPreviousPage } }
      events(first: 2, after: $event) { nodes { cursor } pageInfo { endCursor } }
    } }`
    interface Data {
      readonly session: {
        readonly turns: Page & { readonly nodes: readonly { readonly number: number }[] }
        readonly firstTurn: { readonly nodes: readonly { readonly toolCalls: Page }[] }
        readonly deliveries: Page & { readonly nodes: readonly { readonly position: number }[] }
        readonly events: { readonly nodes: readonly { readonly cursor: string }[]; readonly pageInfo: { readonly endCursor: string } }
      }
    }
    const one = (await api.as<Data>('ann', query, { id })).data.session
    const calls = one.firstTurn.nodes[0]?.toolCalls
    const places = {
      turn: one.turns.pageInfo.endCursor,
      call: calls?.pageInfo.endCursor,
      delivery: one.deliveries.pageInfo.startCursor,
      event: one.events.pageInfo.endCursor,
    }
    const two = (await api.as<Data>('ann', query, { id, ...places })).data.session
    expect([one.turns.nodes, two.turns.nodes]).toEqual([[{ number: 1 }], [{ number: 2 }]])
    expect(calls?.pageInfo.hasNextPage).toBe(true)
    expect(two.firstTurn.nodes[0]?.toolCalls).toMatchObject({ pageInfo: { hasNextPage: false } })
    expect(two.firstTurn.nodes[0]?.toolCalls.nodes).toHaveLength(1)
    expect([one.deliveries.nodes, two.deliveries.nodes]).toEqual([[{ position: 3 }], [{ position: 2 }]])
    expect([...one.events.nodes, ...two.events.nodes].map(({ cursor }) => cursor)).toEqual(['1', '2', '3', '4'])
  })
})
