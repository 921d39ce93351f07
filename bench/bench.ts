/** What every measurement is given. */
import type { Engine } from './engine.js'
import type { GraphqlClient } from './graphql-client.js'
import type { Services } from './place.js'
import type { Sizes } from './sizes.js'

/** One that makes its own places and processes. */
export interface Setting {
  readonly services: Services
  readonly sizes: Sizes
  readonly signal: AbortSignal
  /** Hears what is being measured. */
  readonly say: (line: string) => void
  /** Hears of what should not happen meanwhile. */
  readonly warn: (message: string) => void
}

/** One that needs an engine in this process. */
export interface Bench {
  readonly engine: Engine
  readonly client: GraphqlClient
  readonly sizes: Sizes
  readonly signal: AbortSignal
}
