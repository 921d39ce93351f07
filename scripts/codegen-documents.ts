/**
 * Codegen plugin: one typed constant for each operation, its text without ignorable characters, and one for each fragment, so
 * that a fragment's text is in the bundle once.
 */
import type { PluginFunction } from '@graphql-codegen/plugin-helpers'
import { concatAST, Kind, print, stripIgnoredCharacters, visit, type DefinitionNode, type DocumentNode } from 'graphql'

export const plugin: PluginFunction<object> = (_schema, files) => {
  const { definitions } = concatAST(files.flatMap((file) => (file.document === undefined ? [] : [file.document])))
  const fragments = new Map(definitions.flatMap((one) => (one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one] as const] : [])))
  const spreads = (from: DefinitionNode, found = new Set<string>()): ReadonlySet<string> => {
    visit(from, {
      FragmentSpread: ({ name: { value } }) => {
        const fragment = fragments.get(value)
        if (fragment === undefined || found.has(value)) return
        found.add(value)
        spreads(fragment, found)
      },
    })
    return found
  }
  const used = new Set(definitions.flatMap((one) => (one.kind === Kind.OPERATION_DEFINITION ? [...spreads(one)] : [])))
  const lines = [...used].sort().flatMap((name) => {
    const fragment = fragments.get(name)
    return fragment === undefined ? [] : [`const ${name} = ${toLiteral(fragment)}`]
  })
  const named = definitions.flatMap((one) =>
    one.kind === Kind.OPERATION_DEFINITION && one.name !== undefined ? [{ ...one, name: one.name }] : [],
  )
  for (const one of named.sort((a, b) => (a.name.value < b.name.value ? -1 : 1))) {
    const name = one.name.value
    const type = `${name}${one.operation[0]?.toUpperCase() ?? ''}${one.operation.slice(1)}`
    const text = [toLiteral(one), ...[...spreads(one)].sort()].join(' + ')
    lines.push(`export const ${name}Document: TypedDocument<t.${type}, t.${type}Variables> = ${text}`)
  }
  return {
    prepend: ["import type { TypedDocument } from '../document.js'", "import type * as t from './operations.js'"],
    content: lines.join('\n'),
  }
}

function toLiteral(definition: DefinitionNode): string {
  const document: DocumentNode = { kind: Kind.DOCUMENT, definitions: [definition] }
  return JSON.stringify(stripIgnoredCharacters(print(document)))
}
