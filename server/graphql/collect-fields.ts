/** Which fields of an object an operation asks for: CollectFields of the GraphQL specification. */
import {
  getDirectiveValues,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  isAbstractType,
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  type NamedTypeNode,
  type SelectionSetNode,
} from 'graphql'

/** In the order of the result, by its keys. Nodes with one key ask for one field. */
export type CollectedFields = ReadonlyMap<string, readonly FieldNode[]>

export interface FieldCollector {
  /** Of an object of this type, in the place where all of `sets` stand. */
  collect(type: GraphQLObjectType, sets: readonly SelectionSetNode[]): CollectedFields
}

/** `variables` are coerced. */
export function createFieldCollector(
  schema: GraphQLSchema,
  document: DocumentNode,
  variables: { readonly [name: string]: unknown },
): FieldCollector {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  }

  function isIncluded(node: SelectionSetNode['selections'][number]): boolean {
    if (getDirectiveValues(GraphQLSkipDirective, node, variables)?.['if'] === true) return false
    return getDirectiveValues(GraphQLIncludeDirective, node, variables)?.['if'] !== false
  }

  function isFor(condition: NamedTypeNode | undefined, type: GraphQLObjectType): boolean {
    if (condition === undefined) return true
    const named = schema.getType(condition.name.value)
    return named === type || (isAbstractType(named) && schema.isSubType(named, type))
  }

  return {
    collect(type, sets) {
      const fields = new Map<string, readonly FieldNode[]>()
      const spread = new Set<string>()

      function add({ selections }: SelectionSetNode): void {
        for (const selection of selections.filter(isIncluded)) {
          if (selection.kind === Kind.FIELD) {
            const key = (selection.alias ?? selection.name).value
            fields.set(key, [...(fields.get(key) ?? []), selection])
          } else if (selection.kind === Kind.INLINE_FRAGMENT) {
            if (isFor(selection.typeCondition, type)) add(selection.selectionSet)
          } else {
            addFragment(selection.name.value)
          }
        }
      }
      function addFragment(name: string): void {
        const fragment = fragments.get(name)
        if (fragment === undefined || spread.has(name)) return
        spread.add(name)
        if (isFor(fragment.typeCondition, type)) add(fragment.selectionSet)
      }

      for (const set of sets) add(set)
      return fields
    },
  }
}
