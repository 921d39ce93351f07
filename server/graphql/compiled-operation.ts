/**
 * An operation prepared once and executed many times, for the plain case: every resolver answers at once, without fault, and out of the
 * object that it is given. Which fields are asked for is found out at the first object of each type.
 *
 * - C1 What it makes is what `execute` of graphql makes.
 * - C2 It makes nothing where anything but the item has a say: no context, no argument or variable of the root field. A resolver that
 *   reaches for one of these, or answers with a promise, makes it give up for good; one that throws, or gives what its type forbids, for
 *   this item. What it gives up is for `execute`.
 */
import {
  defaultFieldResolver,
  defaultTypeResolver,
  getArgumentValues,
  getOperationAST,
  getVariableValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type ExecutionArgs,
  type FieldNode,
  type GraphQLAbstractType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type SelectionSetNode,
} from 'graphql'
import { createFieldCollector, type FieldCollector } from './collect-fields.js'

export interface CompiledOperation {
  /** The data of the result; null: that is for `execute` to make. */
  run(item: unknown): Data | null
}
type Data = Record<string, unknown>

/** The document is valid for the schema, and so are the variables. */
export function compileOperation(args: ExecutionArgs): CompiledOperation {
  return new Compiled(args)
}

/** From a value to what stands for it in the result. Throws when that is not for here. */
type Make = (value: unknown) => unknown

class Compiled implements CompiledOperation {
  readonly #schema: GraphQLSchema
  readonly #variables: { readonly [name: string]: unknown }
  readonly #fields: FieldCollector
  /** Stands where resolvers look for what they may not have. Whatever is done with a proxy looks for its trap first. */
  readonly #outOfReach = new Proxy({}, new Proxy<ProxyHandler<object>>({}, { get: () => this.#giveUp() }))
  readonly #makeRoot: (item: unknown) => Data
  #hasGivenUp = false

  constructor({ schema, document, operationName, variableValues }: ExecutionArgs) {
    const operation = getOperationAST(document, operationName)
    const root = operation && schema.getRootType(operation.operation)
    if (!operation || !root) throw new Error('there is no such operation')
    this.#schema = schema
    this.#variables = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {}).coerced ?? {}
    this.#fields = createFieldCollector(schema, document, this.#variables)
    this.#makeRoot = this.#objects(root, [operation.selectionSet])
  }

  run(item: unknown): Data | null {
    if (this.#hasGivenUp) return null
    try {
      const data = this.#makeRoot(item)
      return this.#isPlain() ? data : null
    } catch {
      return null
    }
  }

  /** A resolver may have caught what was thrown at it. */
  #isPlain(): boolean {
    return !this.#hasGivenUp
  }

  #giveUp(): never {
    this.#hasGivenUp = true
    throw new Error('this takes more than the item')
  }

  #objects(type: GraphQLObjectType, sets: readonly SelectionSetNode[]): (source: unknown) => Data {
    const fields = [...this.#fields.collect(type, sets)].map(([key, nodes]) => ({ key, make: this.#field(type, nodes) }))
    // An object cannot have this key as others.
    if (type.isTypeOf || fields.some(({ key }) => key === '__proto__')) return () => this.#giveUp()
    return (source) => {
      const made: Data = {}
      for (const { key, make } of fields) made[key] = make(source)
      return made
    }
  }

  #field(parent: GraphQLObjectType, nodes: readonly FieldNode[]): Make {
    const [node] = nodes
    if (node?.name.value === '__typename') return () => parent.name
    const field = parent.getFields()[node?.name.value ?? '']
    if (node === undefined || field === undefined) return () => this.#giveUp()
    const args = parent === this.#schema.getSubscriptionType() ? this.#outOfReach : getArgumentValues(field, node, this.#variables)
    const info = this.#infoOf(field, parent, nodes)
    const resolve = field.resolve ?? defaultFieldResolver
    const make = this.#values(field.type, info)
    return (source) => make(this.#settled(resolve(source, args, this.#outOfReach, info)))
  }

  #values(type: GraphQLOutputType, info: GraphQLResolveInfo): Make {
    if (isNonNullType(type)) {
      const makeNullable = this.#values(type.ofType, info)
      return (value) => makeNullable(value) ?? refuse()
    }
    const make = this.#presentValues(type, info)
    return (value) => (value === null || value === undefined ? null : make(value))
  }

  #presentValues(type: Exclude<GraphQLOutputType, { readonly ofType: object }>, info: GraphQLResolveInfo): Make {
    if (isListType(type)) {
      const make = this.#values(type.ofType, info)
      return (value) => (Array.isArray(value) ? value.map((item) => make(this.#settled(item))) : refuse())
    }
    if (isLeafType(type)) return (value) => type.serialize(value) ?? refuse()
    if (!isObjectType(type)) return this.#abstract(type, info)
    let make: Make | null = null
    return (value) => (make ??= this.#objects(type, selectionsOf(info)))(value)
  }

  #abstract(type: GraphQLAbstractType, info: GraphQLResolveInfo): Make {
    const makers = new Map<string, Make>()
    const resolveType = type.resolveType ?? defaultTypeResolver
    return (value) => {
      const name = this.#settled(resolveType(value, this.#outOfReach, info, type))
      if (typeof name !== 'string') return refuse()
      const make = makers.get(name) ?? this.#objects(this.#possibleType(type, name), selectionsOf(info))
      makers.set(name, make)
      return make(value)
    }
  }

  #possibleType(type: GraphQLAbstractType, name: string): GraphQLObjectType {
    const named = this.#schema.getType(name)
    return isObjectType(named) && this.#schema.isSubType(type, named) ? named : refuse()
  }

  #settled(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Error) throw value
    if (!('then' in value) || typeof value.then !== 'function') return value
    // Nobody waits for it here; that it fails is nobody's concern.
    Promise.resolve(value).catch(() => undefined)
    return this.#giveUp()
  }

  #infoOf(
    { name, type }: GraphQLField<unknown, unknown>,
    parentType: GraphQLObjectType,
    fieldNodes: readonly FieldNode[],
  ): GraphQLResolveInfo {
    const giveUp = (): never => this.#giveUp()
    return {
      ...{ fieldName: name, returnType: type, parentType, fieldNodes, schema: this.#schema },
      get path() {
        return giveUp()
      },
      get rootValue() {
        return giveUp()
      },
      get operation() {
        return giveUp()
      },
      get fragments() {
        return giveUp()
      },
      get variableValues() {
        return giveUp()
      },
    }
  }
}

/** The value is not what its type says: `execute` tells how. */
function refuse(): never {
  throw new Error('this is no such value')
}

function selectionsOf({ fieldNodes }: GraphQLResolveInfo): readonly SelectionSetNode[] {
  return fieldNodes.flatMap(({ selectionSet }) => selectionSet ?? [])
}
