import { readFileSync } from 'node:fs'
import {
  buildSchema as buildFromText,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isSpecifiedScalarType,
  isUnionType,
  parse,
  validate,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { PROBLEM_CODES } from '../../server/errors.js'
import * as stored from '../../server/generated/prisma/enums.js'
import { defaultTabs } from '../../server/graphql/graphiql.js'
import { printDocument } from '../../server/graphql/print-schema.js'
import { buildSchema } from '../../server/graphql/schema.js'
import { toTypeName } from '../../server/graphql/types/event.js'
import { EVENT_TYPES } from '../../server/session/events.js'

const schema = buildSchema()
const own = Object.values(schema.getTypeMap()).filter((type) => !isSpecifiedScalarType(type) && !type.name.startsWith('__'))

describe('the schema', () => {
  it('is what schema.graphql says', () => {
    expect(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8')).toBe(printDocument(schema))
  })

  it('is printed as a document that makes the same schema', () => {
    const reread = buildFromText(printDocument(schema))
    expect(own.filter(({ name }) => String(reread.getType(name)) !== name)).toEqual([])
    expect(printDocument(reread)).toBe(printDocument(schema))
  })

  it('begins with the operations', () => {
    expect(
      printDocument(schema)
        .match(/^type \w+/gm)
        ?.slice(0, 3),
    ).toEqual(['type Query', 'type Mutation', 'type Subscription'])
  })

  it('describes every type, field, argument, input field and value', () => {
    const bare: string[] = []
    const check = (name: string, { description }: { readonly description?: string | null | undefined }) => {
      if (!description) bare.push(name)
    }
    for (const type of own) {
      check(type.name, type)
      if (isEnumType(type)) for (const value of type.getValues()) check(`${type.name}.${value.name}`, value)
      if (isInputObjectType(type)) for (const field of Object.values(type.getFields())) check(`${type.name}.${field.name}`, field)
      if (!isObjectType(type) && !isInterfaceType(type)) continue
      for (const field of Object.values(type.getFields())) {
        check(`${type.name}.${field.name}`, field)
        for (const arg of field.args) check(`${type.name}.${field.name}(${arg.name})`, arg)
      }
    }
    expect(bare).toEqual([])
  })

  it('has an example for every input and each of its fields', () => {
    const bare = own
      .filter(isInputObjectType)
      .flatMap((type) => [
        ...(type.description?.includes('Example: `') ? [] : [type.name]),
        ...Object.values(type.getFields()).flatMap((field) =>
          field.description?.includes('Example: `') ? [] : [`${type.name}.${field.name}`],
        ),
      ])
    expect(bare).toEqual([])
  })

  it('has one object type for each type of event', () => {
    const implementers = schema.getPossibleTypes(interfaceNamed('SessionEvent')).map(({ name }) => name)
    expect(implementers.sort()).toEqual(EVENT_TYPES.map(toTypeName).sort())
    expect(toTypeName('TOOL_CALL_START')).toBe('ToolCallStart')
    expect(valuesOf('SessionEventType')).toEqual([...EVENT_TYPES])
  })

  it('has the complete set of problem codes, and a Problem is in no union without implementing it', () => {
    expect(valuesOf('ProblemCode')).toEqual([...PROBLEM_CODES])
    const problems = own.filter((type) => isObjectType(type) && type.name.endsWith('Error'))
    expect(problems.map((type) => type.name).sort()).toEqual(
      schema
        .getPossibleTypes(interfaceNamed('Problem'))
        .map(({ name }) => name)
        .sort(),
    )
    for (const type of own.filter(isUnionType)) expect(type.name).toMatch(/Result$/)
  })

  it('has the enumerations of the database', () => {
    const names = Object.keys(stored).filter((name) => isEnumType(schema.getType(name)))
    expect(names.length).toBeGreaterThan(9)
    for (const name of names) expect(valuesOf(name).sort()).toEqual(Object.values(stored[name as keyof typeof stored]).sort())
  })

  it('runs every default tab of GraphiQL', () => {
    for (const tab of defaultTabs('hello')) expect(validate(schema, parse(tab))).toEqual([])
  })
})

function interfaceNamed(name: string) {
  const type = schema.getType(name)
  if (!isInterfaceType(type)) throw new Error(`${name} is no interface`)
  return type
}

function valuesOf(name: string): string[] {
  const type = schema.getType(name)
  if (!isEnumType(type)) throw new Error(`${name} is no enum`)
  return type.getValues().map((value) => value.name)
}
