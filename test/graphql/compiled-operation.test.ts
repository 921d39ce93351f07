import {
  execute,
  GraphQLEnumType,
  GraphQLError,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  parse,
  validate,
  type ExecutionArgs,
  type GraphQLFieldResolver,
  type GraphQLOutputType,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { SessionEventsDocument } from '../../sdk/generated/documents.js'
import { compileOperation } from '../../server/graphql/compiled-operation.js'
import { buildSchema } from '../../server/graphql/schema.js'
import { EVERY_EVENT } from '../support/every-event.js'

function argsOf(schema: GraphQLSchema, query: string, variableValues: Record<string, unknown> = {}): ExecutionArgs {
  const document = parse(query)
  expect(validate(schema, document)).toEqual([])
  return { schema, document, variableValues, contextValue: {} }
}

/** What both make of it, as text: the order of keys counts. */
function both(args: ExecutionArgs, item: unknown): readonly [string, string] {
  const data = compileOperation(args).run(item)
  return [JSON.stringify({ data }), JSON.stringify(execute({ ...args, rootValue: item }))]
}

const real = buildSchema()
const batchOf = (events: typeof EVERY_EVENT) => ({ events, cursor: 7, caughtUp: true })
const SESSION = { session: { id: 'ses_1' }, follow: true }

describe('an event of every type, compiled (C1)', () => {
  it.each(EVERY_EVENT.map((event) => [event.type, event] as const))(
    '%s is what execute makes, with the document of the SDK',
    (_, event) => {
      const [compiled, executed] = both(argsOf(real, String(SessionEventsDocument), SESSION), batchOf([event]))
      expect(compiled).toBe(executed)
      expect(compiled).toContain(event.type)
    },
  )

  it('so are all together, an empty batch and a problem', () => {
    const args = argsOf(real, String(SessionEventsDocument), SESSION)
    const problem = { __typename: 'InvalidInputError', message: 'no', issues: [{ path: ['after'], message: 'is none' }] }
    for (const item of [batchOf(EVERY_EVENT), batchOf([]), problem]) {
      const [compiled, executed] = both(args, item)
      expect(compiled).toBe(executed)
    }
  })

  const DOCUMENTS = {
    'aliases, and one field asked for in several places': `subscription { sessionEvents(session: { id: "x" }) { ... on SessionEventsBatch { it: cursor cursor
      events { kind: type ... on TurnCompleted { usage { totalTokens } } ... on TurnCompleted { usage { promptTokens } } } events { at } } } }`,
    'fragments in fragments, on interfaces and on other types': `subscription { ...Root } fragment Root on Subscription { sessionEvents(session: { id: "x" }) { ...Any } }
      fragment Any on SessionEventsResult { ... on SessionEventsBatch { events { ...Event ...Event } } ... on Problem { message } }
      fragment Event on SessionEvent { __typename ... on LlmChunk { ...Chunk } ... on SessionEvent { id } } fragment Chunk on LlmChunk { text offset }`,
    'fields left out and put in': `subscription ($yes: Boolean!, $no: Boolean = false) { sessionEvents(session: { id: "x" }) { ... on SessionEventsBatch @include(if: $yes) {
      cursor @skip(if: $yes) caughtUp @include(if: $no) events @skip(if: $no) { type @include(if: $yes) ... @skip(if: $yes) { id } } } } }`,
  }
  it.each(Object.entries(DOCUMENTS))('%s: what execute makes', (_, query) => {
    for (const yes of [true, false]) {
      const [compiled, executed] = both(argsOf(real, query, { yes }), batchOf(EVERY_EVENT))
      expect(compiled).toBe(executed)
    }
  })
})

const MANY = { name: 'it', must: 1, color: 'RED', list: [1, 2], self: { name: 'itself' } }
type Resolve = GraphQLFieldResolver<unknown, Record<string, unknown>>

/** A subscription to objects with one field `asked` of a type, resolved so. */
function compileField(type: GraphQLOutputType, resolve: Resolve, ask = 'asked') {
  const Item: GraphQLObjectType = new GraphQLObjectType({
    name: 'Item',
    fields: { asked: { type, resolve, args: { x: { type: GraphQLInt, defaultValue: 3 } } }, name: { type: GraphQLString } },
  })
  const item = { type: Item, args: { a: { type: GraphQLInt } }, resolve: (source: unknown) => source }
  const schema = new GraphQLSchema({
    query: new GraphQLObjectType({ name: 'Query', fields: { a: { type: GraphQLInt } } }),
    subscription: new GraphQLObjectType({ name: 'Subscription', fields: { item } }),
  })
  return compileOperation(argsOf(schema, `subscription ($a: Int) { item(a: $a) { ${ask} } }`, { a: 1 }))
}

const Required = new GraphQLNonNull(GraphQLInt)
const List = new GraphQLList(Required)
const Color = new GraphQLEnumType({ name: 'Color', values: { RED: { value: 'r' } } })

describe('what is plain', () => {
  it.each<[string, GraphQLOutputType, unknown, unknown]>([
    ['null where it may be', GraphQLInt, undefined, null],
    ['a list', List, [1, 2], [1, 2]],
    ['a list of lists', new GraphQLList(List), [[1], null, []], [[1], null, []]],
    ['an enum value', Color, 'r', 'RED'],
  ])('%s', (_, type, value, expected) => {
    expect(compileField(type, () => value).run({})).toEqual({ item: { asked: expected } })
  })

  it('gives a resolver its own arguments and what does not change of where it stands', () => {
    const seen = compileField(GraphQLString, (_, args, __, info) => `${String(args['x'])} ${info.fieldName} ${info.parentType.name}`)
    expect(seen.run({})).toEqual({ item: { asked: '3 asked Item' } })
  })

  it('a root that is null is null', () => {
    expect(compileField(GraphQLInt, () => 1).run(null)).toEqual({ item: null })
  })
})

describe('a resolver that wants more than the item makes it give up for good (C2)', () => {
  it.each<[string, Resolve]>([
    ['reads the context', (_, __, context) => (context as { caller?: number }).caller],
    ['takes the context apart', (_, __, context) => Object.keys(context).length],
    ['asks what is in the context', (_, __, context) => ('caller' in (context as object) ? 1 : 2)],
    ['reads its place in the result', (_, __, ___, info) => info.path.key],
    ['reads the variables', (_, __, ___, info) => info.variableValues['a']],
    ['reads the item by another way', (_, __, ___, info) => info.rootValue],
    ['answers with a promise', () => Promise.resolve(1)],
    ['answers with a promise that fails', () => Promise.reject(new Error('no'))],
  ])('it %s', (_, greedy) => {
    let wants = true
    const operation = compileField(GraphQLInt, (...all) => (wants ? greedy(...all) : 1))
    expect(operation.run({})).toBeNull()
    wants = false
    expect(operation.run({})).toBeNull()
  })

  it('also when it catches that it may not', () => {
    const operation = compileField(GraphQLInt, (_, __, context) => {
      try {
        return (context as { caller: number }).caller
      } catch {
        return 0
      }
    })
    expect(operation.run({})).toBeNull()
  })

  it('the arguments of the subscription are out of reach for its resolve', () => {
    const Item = new GraphQLObjectType({ name: 'Item', fields: { name: { type: GraphQLString } } })
    const item = { type: Item, args: { a: { type: GraphQLInt } }, resolve: (_: unknown, { a }: { a?: number }) => ({ name: String(a) }) }
    const schema = new GraphQLSchema({
      query: new GraphQLObjectType({ name: 'Query', fields: { a: { type: GraphQLInt } } }),
      subscription: new GraphQLObjectType({ name: 'Subscription', fields: { item } }),
    })
    expect(compileOperation(argsOf(schema, 'subscription { item(a: 1) { name } }')).run({})).toBeNull()
  })

  it.each(['__proto__: name', 'name __proto__: __typename'])('so does a key that objects have no room for: %s', (ask) => {
    expect(compileField(GraphQLInt, () => 1, ask).run(MANY)).toBeNull()
  })
})

describe('what has errors is left to execute, for this item only (C2)', () => {
  it.each<[string, GraphQLOutputType, unknown]>([
    ['a resolver that throws', GraphQLInt, new GraphQLError('no')],
    ['null where it must not be', Required, null],
    ['null in a list of what must be', List, [1, null]],
    ['an error among the values of a list', List, [1, new Error('no')]],
    ['a value that is none of its type', GraphQLInt, 'many'],
    ['a value that is none of its enum', Color, 'RED'],
    ['one thing where a list should be', List, 1],
  ])('%s', (_, type, bad) => {
    let isBad = true
    const good = type === Color ? 'r' : type === List ? [1] : 1
    const operation = compileField(type, () => {
      if (isBad && bad instanceof GraphQLError) throw bad
      return isBad ? bad : good
    })
    expect(operation.run({})).toBeNull()
    isBad = false
    expect(operation.run({})).not.toBeNull()
  })

  it('an object that is of no type that it may be', () => {
    const args = argsOf(real, String(SessionEventsDocument), SESSION)
    const operation = compileOperation(args)
    expect(operation.run({ __typename: 'Nothing', message: '' })).toBeNull()
    expect(operation.run(batchOf(EVERY_EVENT))).not.toBeNull()
  })
})
