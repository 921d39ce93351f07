import {
  GraphQLBoolean,
  GraphQLError,
  GraphQLInt,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  parse,
  type ExecutionArgs,
} from 'graphql'
import { beforeEach, describe, expect, it } from 'vitest'
import { MAX_SHARED_VARIANTS } from '../../server/graphql/limits.js'
import { createSharedEvents, type SharedEvents, type ToEvent } from '../../server/graphql/shared-events.js'

interface Item {
  readonly name: string
}
interface Context {
  readonly caller: string
}

let made: string[] = []
let masked = 0
let events: SharedEvents
beforeEach(() => {
  made = []
  masked = 0
  events = createSharedEvents(
    (thrown) => new GraphQLError(`masked ${(masked += 1)}: ${String(thrown)}`, { extensions: { code: 'X', http: {} } }),
  )
})

/** `name` is the item's own, `whose` the caller's, `later` has to be waited for. */
const ItemType = new GraphQLObjectType<Item, Context>({
  name: 'Item',
  fields: {
    name: {
      type: GraphQLString,
      args: { loud: { type: GraphQLBoolean }, n: { type: GraphQLInt } },
      resolve: ({ name }, { loud }) => note(loud === true ? `${name}!` : name),
    },
    whose: { type: GraphQLString, resolve: (_, __, { caller }) => note(caller) },
    later: { type: GraphQLString, resolve: ({ name }) => Promise.resolve(note(`later ${name}`)) },
    fault: {
      type: GraphQLString,
      resolve: () => {
        throw new Error('broken')
      },
    },
  },
})
const schema = new GraphQLSchema({
  query: new GraphQLObjectType({ name: 'Query', fields: { a: { type: GraphQLInt } } }),
  subscription: new GraphQLObjectType({
    name: 'Subscription',
    fields: {
      items: { type: ItemType, args: { after: { type: GraphQLInt }, of: { type: GraphQLString } }, resolve: (item: Item) => item },
    },
  }),
})

function note(value: string): string {
  made.push(value)
  return value
}

interface Given {
  readonly variables?: Record<string, unknown>
  readonly caller?: string
  readonly operation?: string
}

/** A subscription; those with one document share it, as the cache of parsed documents makes them. */
function subscribe(document: ExecutionArgs['document'], { variables = {}, caller = 'ann', operation }: Given = {}): ToEvent {
  return events.prepare({ schema, document, variableValues: variables, contextValue: { caller }, operationName: operation ?? null })
}
const text = async (event: ReturnType<ToEvent>) => String(await event)
const NAME = parse('subscription { items { name } }')
const item = (name = 'one'): Item => ({ name })

describe('an event is made once for all who subscribed to the same (X1)', () => {
  it('whoever they are: they are sent the very same bytes', async () => {
    const one = item()
    const [ann, bob] = [subscribe(NAME, { caller: 'ann' }), subscribe(NAME, { caller: 'bob' })]
    expect(ann(one)).toBe(bob(one))
    expect(await text(ann(one))).toBe('event: next\ndata: {"data":{"items":{"name":"one"}}}\n\n')
    expect(made).toEqual(['one'])
  })

  it('but not for another item, also an equal one', () => {
    const ann = subscribe(NAME)
    expect(ann(item())).not.toBe(ann(item()))
    expect(made).toHaveLength(2)
  })

  it('nor for another document, though it reads the same', () => {
    const one = item()
    expect(subscribe(NAME)(one)).not.toBe(subscribe(parse('subscription { items { name } }'))(one))
    expect(made).toHaveLength(2)
  })

  it('nor for another operation of the document', async () => {
    const document = parse('subscription A { items { name } } subscription B { items { a: name } }')
    const one = item()
    expect(await text(subscribe(document, { operation: 'A' })(one))).toContain('"name":"one"')
    expect(await text(subscribe(document, { operation: 'B' })(one))).toContain('"a":"one"')
  })

  it('variables that chose the source do not count', () => {
    const document = parse('subscription ($after: Int, $of: String) { items(after: $after, of: $of) { name } }')
    const one = item()
    const all = [{}, { after: 1 }, { after: 2, of: 'x' }].map((variables) => subscribe(document, { variables })(one))
    expect(new Set(all).size).toBe(1)
    expect(made).toEqual(['one'])
  })

  it.each([
    ['in an argument', 'subscription ($v: Boolean = true, $after: Int) { items(after: $after) { name(loud: $v) } }'],
    ['in a directive', 'subscription ($v: Boolean = true, $after: Int) { items(after: $after) { name @include(if: $v) } }'],
    ['in a directive on the field of the subscription', 'subscription ($v: Boolean = true) { items @include(if: $v) { name } }'],
    ['in a fragment', 'subscription ($v: Boolean = true) { items { ...F } } fragment F on Item { name(loud: $v) }'],
    ['in both places', 'subscription ($v: Boolean = true) { items(of: "x") @include(if: $v) { name(loud: $v) } }'],
  ])('every other variable does: %s', async (_, query) => {
    const document = parse(query)
    const one = item()
    const answers = await Promise.all(
      [{ v: true }, { v: false }, {}, { v: true }].map((variables) => text(subscribe(document, { variables })(one))),
    )
    expect(answers[0]).toBe(answers[3])
    expect(answers[0]).toBe(answers[2])
    expect(answers[0]).not.toBe(answers[1])
  })

  it('null is another value than none', async () => {
    const document = parse('subscription ($v: Boolean = true) { items { name(loud: $v) } }')
    const one = item()
    expect(await text(subscribe(document, { variables: { v: null } })(one))).toContain('"one"')
    expect(await text(subscribe(document)(one))).toContain('"one!"')
  })

  it('a document is kept prepared for so many sets of variables; after more it is prepared again, and who has it keeps it', async () => {
    const document = parse('subscription ($n: Int) { items { name(n: $n) } }')
    const one = item()
    const first = subscribe(document, { variables: { n: 0 } })
    const event = first(one)
    for (let n = 1; n < MAX_SHARED_VARIANTS; n += 1) subscribe(document, { variables: { n } })
    expect(subscribe(document, { variables: { n: 0 } })(one)).toBe(event)
    for (let n = 1; n <= MAX_SHARED_VARIANTS; n += 1) subscribe(document, { variables: { n } })
    expect(subscribe(document, { variables: { n: 0 } })(one)).not.toBe(event)
    expect(first(one)).toBe(event)
  })
})

describe('what more than the item had a say in is made for each by himself (X2)', () => {
  it('a field that depends on the caller', async () => {
    const document = parse('subscription { items { name whose } }')
    const one = item()
    const [ann, bob] = [subscribe(document, { caller: 'ann' }), subscribe(document, { caller: 'bob' })]
    expect(await text(ann(one))).toContain('"whose":"ann"')
    expect(await text(bob(one))).toContain('"whose":"bob"')
    expect(await text(ann(one))).toContain('"whose":"ann"')
  })

  it('only where it is asked for', async () => {
    const document = parse('subscription ($mine: Boolean!) { items { name whose @include(if: $mine) } }')
    const one = item()
    const plain = ['ann', 'bob'].map((caller) => subscribe(document, { variables: { mine: false }, caller })(one))
    const own = ['ann', 'bob'].map((caller) => subscribe(document, { variables: { mine: true }, caller })(one))
    expect(plain[0]).toBe(plain[1])
    expect(await Promise.all(own.map(text))).toEqual([expect.stringContaining('"ann"'), expect.stringContaining('"bob"')])
  })

  it('what has to be waited for', async () => {
    const document = parse('subscription { items { later } }')
    const one = item()
    const all = [subscribe(document)(one), subscribe(document)(one)]
    expect(await Promise.all(all.map(text))).toEqual([expect.stringContaining('later one'), expect.stringContaining('later one')])
    expect(all[0]).not.toBe(all[1])
  })

  it('what has errors: each is told his own, masked, and nothing of the status', async () => {
    const document = parse('subscription { items { name fault } }')
    const one = item()
    const answers = await Promise.all([subscribe(document)(one), subscribe(document)(one)].map(text))
    const errors = answers.map(
      (answer) => (JSON.parse(answer.slice(answer.indexOf('{'))) as { errors: { message: string; extensions: object }[] }).errors[0],
    )
    expect(errors.map((error) => error?.message.slice(0, 8))).toEqual(['masked 1', 'masked 2'])
    expect(errors[0]?.extensions).toEqual({ code: 'X' })
    expect(answers[0]).toContain('"data":{"items":{"name":"one","fault":null}}')
  })
})
