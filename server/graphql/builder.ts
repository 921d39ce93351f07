/** The schema's builder: its plugins, the scalars, and what is the same for every page. */
import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import type { Json } from '../errors.js'
import type PrismaTypes from '../generated/pothos.js'
import { getDatamodel } from '../generated/pothos.js'
import type { GraphqlContext } from './context.js'
import { DEFAULT_PAGE, MAX_PAGE } from './limits.js'
import { DateTime, JsonObject, JsonValue, SafeInt } from './scalars.js'

interface SchemaTypes {
  PrismaTypes: PrismaTypes
  Context: GraphqlContext
  DefaultFieldNullability: false
  DefaultEdgesNullability: { list: false; items: false }
  DefaultNodeNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date | number }
    SafeInt: { Input: number; Output: number }
    JSON: { Input: Json; Output: unknown }
    JSONObject: { Input: { readonly [key: string]: Json }; Output: object }
  }
}

const one = { complexity: { field: 0, multiplier: 1 } }

export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [ComplexityPlugin, PrismaPlugin, RelayPlugin],
  defaultFieldNullability: false,
  prisma: { client: ({ services }) => services.prisma, dmmf: getDatamodel() },
  complexity: { disabled: true },
  relay: {
    cursorType: 'String',
    edgesFieldOptions: { nullable: { list: false, items: false }, description: 'The page, with a cursor for each item.', ...one },
    nodesOnConnection: { description: 'The page, without cursors.', ...one },
    nodeFieldOptions: { nullable: false, description: 'The item.' },
    cursorFieldOptions: { description: 'Opaque; hand it back as `after` or `before`.' },
    pageInfoFieldOptions: { description: 'Whether there is more, and where to go on.', ...one },
    pageInfoTypeOptions: { description: 'Where a page stands in its list.' },
    hasNextPageFieldOptions: { description: 'Whether there is more after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether there is more before this page.' },
    startCursorFieldOptions: { description: 'Cursor of the first item; null when the page is empty.' },
    endCursorFieldOptions: { description: 'Cursor of the last item; null when the page is empty.' },
    firstArgOptions: { description: `Items from the start; ${DEFAULT_PAGE} when neither first nor last is given, at most ${MAX_PAGE}.` },
    lastArgOptions: { description: `Items from the end, at most ${MAX_PAGE}; not together with first.` },
    afterArgOptions: { description: 'Only items after this cursor.' },
    beforeArgOptions: { description: 'Only items before this cursor.' },
  },
})

builder.addScalarType('DateTime', DateTime)
builder.addScalarType('SafeInt', SafeInt)
builder.addScalarType('JSON', JsonValue)
builder.addScalarType('JSONObject', JsonObject)

builder.queryType({ description: 'Reading. What the caller may not see is null, or missing from a list.' })
builder.mutationType({
  description:
    'Writing. A mutation returns once its effect is durable, not when the agent has acted on it. Expected failures are data: types that implement `Problem`.',
})
builder.subscriptionType({ description: 'Following live. Leaving a subscription never cancels anything.' })
