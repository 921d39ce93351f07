/**
 * The text of a GraphQL operation, with the types of its result and variables. Documents that GraphQL Code Generator makes
 * with `documentMode: 'string'` have this shape too.
 */
export interface TypedDocument<Result, Variables> {
  toString(): string
  /** Never set: carries the types. */
  __apiType?: ((variables: Variables) => Result) | undefined
}
