/**
 * The session events of the SDK, from the types of the schema that implement SessionEvent: the fragment that selects all their
 * fields, and a discriminated union with the schema's descriptions.
 *
 * Types of the log give one name to fields of different types (`reason`); GraphQL lets a selection of several types do so only
 * under an alias. The fragment calls such a field `name_Type`; sdk/session-events.ts takes the suffix off again.
 */
import type { PluginFunction } from '@graphql-codegen/plugin-helpers'
import {
  getNamedType,
  isEnumType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type GraphQLField,
  type GraphQLInterfaceType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
} from 'graphql'

const INTERFACE = 'SessionEvent'
/** The same facts as the typed fields. */
const LEFT_OUT = 'data'
const SCALARS: Readonly<Record<string, string>> = {
  ID: 'string',
  String: 'string',
  DateTime: 'string',
  Int: 'number',
  SafeInt: 'number',
  Float: 'number',
  Boolean: 'boolean',
  JSON: 'unknown',
  JSONObject: '{ readonly [key: string]: unknown }',
}

type Field = GraphQLField<unknown, unknown>

/** `fragment SessionEventFields`, as GraphQL text. */
export function toFragment(schema: GraphQLSchema): string {
  const { base, types } = readEvents(schema)
  const aliased = findAliased(base, types)
  const arms = types.map((type) => {
    const fields = ownFields(base, type).map((field) => {
      const alias = aliased(field) ? `${field.name}_${type.name}: ` : ''
      return `${alias}${field.name}${toSelection(field.type)}`
    })
    return fields.length === 0 ? '' : `... on ${type.name} { ${fields.join(' ')} }`
  })
  const shared = baseFields(base).map((field) => field.name)
  return `fragment SessionEventFields on ${INTERFACE} { __typename ${shared.join(' ')} ${arms.filter((arm) => arm !== '').join(' ')} }`
}

export const plugin: PluginFunction<object> = (schema) => {
  const { base, types } = readEvents(schema)
  const objects = new Map<string, GraphQLObjectType>()
  const enums = new Set<string>()
  const note = (named: GraphQLNamedType): void => {
    if (isEnumType(named)) enums.add(named.name)
    if (!isObjectType(named) || isNode(named) || objects.has(named.name)) return
    objects.set(named.name, named)
    for (const field of Object.values(named.getFields())) note(getNamedType(field.type))
  }
  for (const field of [base, ...types].flatMap((type) => Object.values(type.getFields()))) note(getNamedType(field.type))
  const content = [
    toInterface(
      'SessionEventBase',
      base.description,
      baseFields(base).filter((field) => field.name !== 'type'),
    ),
    ...[...objects.values()].sort(byName).map((type) => toInterface(type.name, type.description, Object.values(type.getFields()))),
    ...types.map((type) => {
      const head = `${type.name} extends SessionEventBase`
      const tags = [`  readonly __typename: '${type.name}'`, `  readonly type: '${toEventType(type.name)}'`]
      return toInterface(head, type.description, ownFields(base, type), tags)
    }),
    `/** Everything that a session's log says; \`type\` tells which. */\nexport type SessionEvent =\n${types.map((type) => `  | ${type.name}`).join('\n')}`,
  ]
  return {
    prepend: [`import type { ${[...enums].sort().join(', ')} } from './operations.js'`, `export type { ${[...enums].sort().join(', ')} }`],
    content: content.join('\n\n'),
  }
}

function readEvents(schema: GraphQLSchema): { readonly base: GraphQLInterfaceType; readonly types: readonly GraphQLObjectType[] } {
  const base = schema.getType(INTERFACE)
  if (!isInterfaceType(base)) throw new Error(`schema.graphql has no interface ${INTERFACE}; print it again with npm run schema`)
  return { base, types: [...schema.getPossibleTypes(base)].sort(byName) }
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  return one.name < other.name ? -1 : 1
}

function baseFields(base: GraphQLInterfaceType): readonly Field[] {
  return Object.values(base.getFields()).filter((field) => field.name !== LEFT_OUT)
}

function ownFields(base: GraphQLInterfaceType, type: GraphQLObjectType): readonly Field[] {
  return Object.values(type.getFields()).filter((field) => base.getFields()[field.name] === undefined)
}

/** True for a field whose name has another, more frequent type elsewhere. */
function findAliased(base: GraphQLInterfaceType, types: readonly GraphQLObjectType[]): (field: Field) => boolean {
  const uses = new Map<string, Map<string, number>>()
  for (const field of types.flatMap((type) => ownFields(base, type))) {
    const ofName = uses.get(field.name) ?? new Map<string, number>()
    ofName.set(String(field.type), (ofName.get(String(field.type)) ?? 0) + 1)
    uses.set(field.name, ofName)
  }
  return (field) => {
    const ranked = [...(uses.get(field.name) ?? [])].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
    return ranked[0]?.[0] !== String(field.type)
  }
}

function isNode(type: GraphQLObjectType): boolean {
  return type.getInterfaces().some((one) => one.name === 'Node')
}

/** Values are selected whole, things with an identity by their id. */
function toSelection(type: GraphQLOutputType): string {
  const named = getNamedType(type)
  if (isLeafType(named)) return ''
  if (!isObjectType(named) || isNode(named)) return ' { id }'
  const fields = Object.values(named.getFields()).map((field) => `${field.name}${toSelection(field.type)}`)
  return ` { ${fields.join(' ')} }`
}

function toEventType(typeName: string): string {
  return typeName.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`).toUpperCase()
}

function toInterface(head: string, description: string | null | undefined, fields: readonly Field[], tags: readonly string[] = []): string {
  const lines = fields.flatMap((field) => [...toDoc(field.description, '  '), `  readonly ${field.name}: ${toType(field.type)}`])
  return [...toDoc(description, ''), `export interface ${head} {`, ...tags, ...lines, '}'].join('\n')
}

function toDoc(description: string | null | undefined, indent: string): readonly string[] {
  if (description === null || description === undefined || description === '') return []
  const lines = description.replaceAll('*/', '* /').split('\n')
  if (lines.length === 1) return [`${indent}/** ${lines[0] ?? ''} */`]
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`]
}

function toType(type: GraphQLOutputType, nullable = true): string {
  if (isNonNullType(type)) return toType(type.ofType, false)
  const plain = isListType(type) ? `readonly (${toType(type.ofType)})[]` : toNamedType(getNamedType(type))
  return nullable && plain !== 'unknown' ? `${plain} | null` : plain
}

function toNamedType(named: GraphQLNamedType): string {
  if (isEnumType(named)) return named.name
  if (isObjectType(named)) return isNode(named) ? '{ readonly id: string }' : named.name
  const scalar = SCALARS[named.name]
  if (scalar === undefined) throw new Error(`the SDK has no type for ${named.name}; add it to SCALARS in scripts/codegen-session-events.ts`)
  return scalar
}
