/** The scalars of the schema, beside GraphQL's own. */
import { GraphQLError, GraphQLScalarType, Kind, valueFromASTUntyped, type ValueNode } from 'graphql'

/** `2026-11-29T17:20:00Z`, with a fraction or an offset if there is one. */
const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

export const DateTime = new GraphQLScalarType<Date, string>({
  name: 'DateTime',
  description: 'A moment, RFC 3339, in UTC: `2026-11-29T17:20:00.000Z`.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
  serialize: (value) => {
    if (value instanceof Date) return value.toISOString()
    if (typeof value === 'number') return new Date(value).toISOString()
    throw new GraphQLError('DateTime cannot represent what it was given')
  },
  parseValue: toDate,
  parseLiteral: (node) => toDate(node.kind === Kind.STRING ? node.value : null),
})

function toDate(value: unknown): Date {
  const date = typeof value === 'string' && RFC_3339.test(value) ? new Date(value) : null
  if (date === null || Number.isNaN(date.getTime())) {
    throw new GraphQLError(`DateTime wants an RFC 3339 string such as "2026-11-29T17:20:00Z", not ${JSON.stringify(value)}`)
  }
  return date
}

export const SafeInt = new GraphQLScalarType<number, number>({
  name: 'SafeInt',
  description: 'An integer within ±(2^53 − 1), a JSON number: 30 days in milliseconds do not fit Int.',
  serialize: toSafeInt,
  parseValue: toSafeInt,
  parseLiteral: (node) => toSafeInt(node.kind === Kind.INT ? Number(node.value) : null),
})

function toSafeInt(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  throw new GraphQLError(`SafeInt wants an integer within ±(2^53 − 1), not ${JSON.stringify(value)}`)
}

export const JsonValue = new GraphQLScalarType<unknown, unknown>({
  name: 'JSON',
  description: 'Any JSON value.',
  serialize: (value) => value,
  parseValue: (value) => value,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables),
})

export const JsonObject = new GraphQLScalarType<object, object>({
  name: 'JSONObject',
  description: 'A JSON object.',
  serialize: toObject,
  parseValue: toObject,
  parseLiteral: (node: ValueNode, variables) => toObject(valueFromASTUntyped(node, variables)),
})

function toObject(value: unknown): object {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  throw new GraphQLError(`JSONObject wants an object such as {"key": "value"}, not ${JSON.stringify(value)}`)
}
