/**
 * From an item of a subscription's source to the bytes that a subscriber is sent: executes its document and encodes the result once, for
 * however many subscribers there are.
 *
 * - X1 An event is shared by subscriptions to the same operation of the same document with equal variables, for the very same item.
 *   Variables in the arguments of the subscription's own field do not count: they chose the source.
 * - X2 It is shared only if nothing but the item had a say in it (C2 of compiled-operation.ts), so who asked can have made no
 *   difference. What depends on the caller, on the request or on a service is made for each subscriber by itself; so is what has errors.
 * - X3 It is remembered as long as the item lives.
 */
import { execute, TypeInfo, visit, visitWithTypeInfo, type DocumentNode, type ExecutionArgs, type GraphQLSchema } from 'graphql'
import { compileOperation, type CompiledOperation } from './compiled-operation.js'
import { MAX_SHARED_VARIANTS } from './limits.js'
import { encodeResult, type MaskError } from './sse.js'

/** What one subscription makes of its items. */
export type ToEvent = (item: unknown) => Buffer | Promise<Buffer>

export interface SharedEvents {
  /** `args` are those that the subscription was opened with; the item takes the place of the root value. */
  prepare(args: ExecutionArgs): ToEvent
}

/** What subscriptions have in common that share their events. */
interface Group {
  readonly operation: CompiledOperation
  readonly events: WeakMap<object, Buffer>
}
/** Of one document: its groups, by what tells them apart. */
interface Known {
  readonly variables: ReadonlySet<string>
  readonly groups: Map<string, Group>
}

export function createSharedEvents(mask: MaskError): SharedEvents {
  const documents = new WeakMap<DocumentNode, Known>()

  function findGroup(args: ExecutionArgs): Group {
    const { schema, document } = args
    const known = documents.get(document) ?? { variables: findVariables(schema, document), groups: new Map<string, Group>() }
    documents.set(document, known)
    const key = toKey(args, known.variables)
    const group = known.groups.get(key) ?? { operation: compileOperation(args), events: new WeakMap<object, Buffer>() }
    // The newest is the last one; the oldest is forgotten by those who come, not by those who have it.
    known.groups.delete(key)
    known.groups.set(key, group)
    for (const oldest of known.groups.keys()) if (known.groups.size > MAX_SHARED_VARIANTS) known.groups.delete(oldest)
    return group
  }

  return {
    prepare(args) {
      const { operation, events } = findGroup(args)
      return (item) => {
        const isObject = typeof item === 'object' && item !== null
        const shared = isObject ? events.get(item) : undefined
        if (shared !== undefined) return shared
        const data = operation.run(item)
        if (data === null) return toOwnEvent(args, item, mask)
        const event = encodeResult({ data }, mask)
        if (isObject) events.set(item, event)
        return event
      }
    },
  }
}

function toOwnEvent(args: ExecutionArgs, item: unknown, mask: MaskError): Buffer | Promise<Buffer> {
  const result = execute({ ...args, rootValue: item })
  return 'then' in result ? result.then((made) => encodeResult(made, mask)) : encodeResult(result, mask)
}

/** What tells subscriptions to one document apart (X1). */
function toKey({ operationName, variableValues }: ExecutionArgs, variables: ReadonlySet<string>): string {
  const given = new Map(Object.entries(variableValues ?? {}))
  return JSON.stringify([operationName, [...variables].filter((name) => given.has(name)).map((name) => [name, given.get(name)])])
}

/** The variables that an execution may read: all but those in the arguments of the subscription's field (X1). */
function findVariables(schema: GraphQLSchema, document: DocumentNode): ReadonlySet<string> {
  const names = new Set<string>()
  const types = new TypeInfo(schema)
  visit(
    document,
    visitWithTypeInfo(types, {
      VariableDefinition: () => false,
      Argument: () => (types.getParentType() === schema.getSubscriptionType() && types.getDirective() == null ? false : undefined),
      Variable: ({ name }) => {
        names.add(name.value)
      },
    }),
  )
  return names
}
