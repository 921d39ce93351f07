import { buildSchema, isEnumType, isInputObjectType, isInterfaceType, isObjectType, type GraphQLNamedType } from 'graphql'
import type { Rule } from './rule.js'
import { readFiles, readText } from './source-files.js'

/** Folders that exist on one person's machine. */
const PRIVATE_PATH = /(?<![\w.:/-])\/(home|root|Users|work|workspace|workspaces|mnt)\/[\w.-]/
/** `@ts-expect-error` in a test is a claim about types: it fails when the line does compile. */
const UNFINISHED = /\b(TODO|FIXME|XXX|HACK)\b|eslint-disable|@ts-(ignore|nocheck)/

const TEXTS = ['server', 'sdk', 'prisma', 'scripts', 'examples', 'test', 'docs', '.ci'] as const
const texts = () =>
  readFiles(TEXTS.filter(exists), ['.ts', '.tsx', '.mjs', '.cjs', '.md', '.prisma', '.graphql', '.json', 'run']).filter(
    ({ path }) => !path.startsWith('test/architecture/'),
  )

function exists(folder: string): boolean {
  try {
    return readFiles([folder], ['']).length > 0
  } catch {
    return false
  }
}

function linesThat(pattern: RegExp): readonly string[] {
  return texts().flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1} ${line.trim().slice(0, 100)}`] : [])),
  )
}

/** Names of the parts of a type that a client reads about and that say nothing. */
function undocumented(type: GraphQLNamedType): readonly string[] {
  if (type.name.startsWith('__')) return []
  const own = type.description ? [] : [type.name]
  if (isEnumType(type)) return [...own, ...type.getValues().flatMap((value) => (value.description ? [] : [`${type.name}.${value.name}`]))]
  if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) return own
  return [...own, ...Object.values(type.getFields()).flatMap((field) => (field.description ? [] : [`${type.name}.${field.name}`]))]
}

/** Models and enums of schema.prisma whose line before is not a `///` comment. */
function undocumentedModels(schema: string): readonly string[] {
  const lines = schema.split('\n')
  return lines.flatMap((line, index) => {
    const name = /^(?:model|enum|view) (\w+)/.exec(line)?.[1]
    return name === undefined || lines[index - 1]?.startsWith('///') === true ? [] : [name]
  })
}

export const textRules: readonly Rule[] = [
  {
    rule: 'Every type, field and value of the GraphQL schema has a description.',
    why: 'The schema is the documentation of the API; the SDK and GraphiQL show it where it is needed.',
    mend: 'Add a `description` beside its definition in server/graphql, then npm run schema.',
    check: () => {
      const types = Object.values(buildSchema(readText('schema.graphql')).getTypeMap())
      const builtIn = new Set(['Boolean', 'Float', 'ID', 'Int', 'String'])
      return types.filter(({ name }) => !builtIn.has(name)).flatMap(undocumented)
    },
  },
  {
    rule: 'Every model and enum of the database has a `///` description.',
    why: 'Prisma carries it into the generated client; whoever reads a query reads it there.',
    mend: 'Say above it what one row, or the choice, stands for.',
    check: () => undocumentedModels(readText('prisma/schema.prisma')),
  },
  {
    rule: 'Nothing is left unfinished, and no check is switched off in place.',
    why: 'A mark in the code is a task that nobody sees and a hole that nobody closes.',
    mend: 'Finish it, or write an issue and leave the code whole.',
    check: () => linesThat(UNFINISHED),
  },
  {
    rule: 'No file names a folder of somebody’s machine.',
    why: 'It works there and nowhere else.',
    mend: 'Use a path that is relative to the file or to the working directory.',
    check: () => linesThat(PRIVATE_PATH),
  },
  {
    rule: 'package-lock.json names no address of a download.',
    why: 'A clone has to install for everybody, from whichever registry npm is configured for; the hashes say what is right.',
    mend: 'npm install in the repository: its .npmrc leaves them out.',
    check: () => [...readText('package-lock.json').matchAll(/"resolved": "(\w+:[^"]+)"/g)].map(([, address = '']) => address),
  },
]
