/** The schema as a document that reads from top to bottom: the operations, then each type where it is first mentioned. */
import {
  getNamedType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isScalarType,
  isUnionType,
  isSpecifiedScalarType,
  printType,
  type GraphQLNamedType,
  type GraphQLSchema,
} from 'graphql'

const HEADER = `# The GraphQL API of Perdure. Printed from server/graphql by \`npm run schema\`; not to be edited.
#
# - Ids are opaque to programs and readable to people: a prefix that tells the type, and a suffix that is ordered by time.
# - A mutation takes one \`input\` and gives a union: what was asked for, or a type that implements \`Problem\`.
# - Lists are Relay connections.
`

/** The same schema is always printed the same. */
export function printDocument(schema: GraphQLSchema): string {
  const types = inReadingOrder(schema).filter((type) => !isSpecifiedScalarType(type))
  return [HEADER, ...types.map((type) => `${printType(type)}\n`)].join('\n')
}

function inReadingOrder(schema: GraphQLSchema): GraphQLNamedType[] {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
  const seen = new Set<GraphQLNamedType>(roots.filter((type) => type !== null && type !== undefined))
  for (const type of seen) for (const mentioned of mentionedBy(type, schema)) seen.add(mentioned)
  return [...seen]
}

/** In the order of the text: arguments before what the field gives. */
function mentionedBy(type: GraphQLNamedType, schema: GraphQLSchema): readonly GraphQLNamedType[] {
  if (isScalarType(type)) return []
  if (isUnionType(type)) return type.getTypes()
  if (isInputObjectType(type)) return Object.values(type.getFields()).map((field) => getNamedType(field.type))
  if (!isObjectType(type) && !isInterfaceType(type)) return []
  const fields = Object.values(type.getFields()).flatMap((field) => [
    ...field.args.map((arg) => getNamedType(arg.type)),
    getNamedType(field.type),
  ])
  const implementers = isInterfaceType(type) ? schema.getPossibleTypes(type) : []
  return [...type.getInterfaces(), ...fields, ...implementers]
}
