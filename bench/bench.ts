/** What every measurement is given. */
import type { Engine } from './engine.js'
import type { GraphqlClient } from './graphql-client.js'
import type { Sizes } from './sizes.js'

export interface Bench {
  readonly engine: Engine
  readonly client: GraphqlClient
  readonly sizes: Sizes
  readonly signal: AbortSignal
}
