/** Who may import whom, as data. docs/architecture.md draws the same picture. */

/** Values that every layer may use: they know nothing of Perdure but its errors and identifiers. */
const GROUND = ['errors.ts', 'ids.ts', 'clock.ts']
const HEART = [...GROUND, 'session']
/** Implementations of the heart's ports. They know the ports and never one another; compose.ts puts them together. */
const ADAPTERS = ['store', 'coordination', 'models', 'tools', 'sandbox', 'events'] as const

/** For each part of server/ (a folder, or a file beside the folders): the other parts that it may import. */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  'errors.ts': [],
  'ids.ts': [],
  'clock.ts': [],
  session: GROUND,
  ...Object.fromEntries(ADAPTERS.map((adapter) => [adapter, HEART])),
  store: [...HEART, 'generated'],
  agents: HEART,
  'config.ts': ['errors.ts'],
  'logger.ts': ['errors.ts', 'config.ts', 'session'],
  observability: HEART,
  worker: [...HEART, ...ADAPTERS],
  channels: [...HEART, ...ADAPTERS, 'agents'],
  graphql: [...HEART, 'agents', 'store', 'events', 'generated'],
  'engine.ts': [...HEART, ...ADAPTERS, 'agents', 'worker', 'observability', 'config.ts'],
  'operations.ts': [...HEART, 'store', 'agents', 'observability', 'config.ts', 'engine.ts'],
  'compose.ts': [
    ...HEART,
    ...ADAPTERS,
    'agents',
    'worker',
    'engine.ts',
    'operations.ts',
    'observability',
    'channels',
    'graphql',
    'config.ts',
    'logger.ts',
  ],
  'index.ts': [...HEART, 'agents', 'models', 'graphql', 'config.ts', 'compose.ts'],
  'inspect.ts': [...HEART, 'store', 'coordination', 'agents', 'models', 'config.ts'],
  cli: [...HEART, 'agents', 'config.ts', 'logger.ts', 'compose.ts', 'inspect.ts', 'index.ts'],
  'main.ts': ['cli'],
}

/** For each package that the server uses: the parts that may import it. */
export const VENDORS: Readonly<Record<string, readonly string[]>> = {
  '@electric-sql/pglite': ['store'],
  '@prisma/adapter-pg': ['store'],
  '@prisma/client': ['store'],
  pg: ['store'],
  'pglite-prisma-adapter': ['store'],
  '@graphql-yoga/render-graphiql': ['graphql'],
  '@pothos/core': ['graphql'],
  '@pothos/plugin-complexity': ['graphql'],
  '@pothos/plugin-errors': ['graphql'],
  '@pothos/plugin-prisma': ['graphql'],
  '@pothos/plugin-relay': ['graphql'],
  '@pothos/plugin-simple-objects': ['graphql'],
  '@pothos/plugin-validation': ['graphql'],
  graphql: ['graphql'],
  'graphql-yoga': ['graphql'],
  zod: ['graphql'],
  ioredis: ['coordination'],
  openai: ['models'],
  '@standard-schema/spec': ['agents'],
  ajv: ['agents'],
  jiti: ['agents'],
  pino: ['logger.ts'],
  'prom-client': ['observability'],
}

/** The generated Prisma client: the store opens it, GraphQL maps its models and reads through it. */
export const PRISMA_CLIENT = { generated: 'server/generated/', importers: ['server/store/', 'server/graphql/'] } as const

/** The part of server/ that a file belongs to. */
export function partOf(path: string): string {
  return path.replace(/^server\//, '').split('/')[0] ?? path
}
