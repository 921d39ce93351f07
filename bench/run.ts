/** One run: the same measurements at each place. Owns the places and the engines; whatever happens, they are closed and dropped. */
import { cpus, loadavg, totalmem, type } from 'node:os'
import { systemClock } from '../server/clock.js'
import { defineStatement, type Database } from '../server/store/database.js'
import { measureAlone } from './alone.js'
import type { Bench, Setting } from './bench.js'
import { startEngine } from './engine.js'
import { prepareEve } from './eve-app.js'
import { measureFanOut } from './fan-out.js'
import { createGraphqlClient } from './graphql-client.js'
import { measureLongSession } from './long-session.js'
import { createDatabase, createFolder, type Place, type Services } from './place.js'
import { measureParked } from './parked.js'
import { measurePeers } from './peers.js'
import { measurePickUp } from './pick-up.js'
import { measureReplay } from './replay.js'
import type { Figures, Machine, PlaceResults, Results } from './results.js'
import { measureRoles } from './roles.js'
import type { RowName } from './rows.js'
import type { Sizes } from './sizes.js'
import { measureThroughput } from './throughput.js'
import { countTransactions } from './transactions.js'
import { measureWaiting } from './waiting.js'

export interface RunOptions {
  readonly version: string
  readonly sizes: Sizes
  readonly rows: ReadonlySet<RowName>
  readonly kinds: ReadonlySet<Place['kind']>
  /** The bench makes databases of its own beside this one. */
  readonly services: Services
  readonly signal: AbortSignal
  /** Hears what is being measured, and of what should not happen meanwhile. */
  readonly say: (line: string) => void
}
type Part = Partial<Figures>

/** Throws the signal's reason when it aborts. */
export async function runBench(options: RunOptions): Promise<Results> {
  const { services, kinds, version } = options
  const machine = describeMachine()
  const places: PlaceResults[] = []
  // First of all: what cannot be installed is found out before anything is measured.
  if (options.rows.has('peers')) await prepareEve(options.say, options.signal)
  if (kinds.has('embedded')) places.push(await measureAt(await createFolder(), options))
  if (kinds.has('postgres') && services.databaseUrl !== null) {
    places.push(await measureAt(await createDatabase(services.databaseUrl, services.redisUrl), options))
  }
  const peers = options.rows.has('peers') ? await measurePeers(toSetting(options)) : null
  return { version, at: new Date(systemClock.now()).toISOString(), machine, places, peers }
}

function toSetting({ services, sizes, signal, say }: RunOptions): Setting {
  return { services, sizes, signal, say, warn: (message) => say(`! ${message}`) }
}

function describeMachine(): Machine {
  const [cpu] = cpus()
  return {
    cpu: cpu?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: type(),
    node: process.version,
    load: loadavg()[0] ?? 0,
  }
}

/** What shares an engine, in the order of measuring. */
const TOGETHER: readonly {
  readonly rows: readonly RowName[]
  readonly measure: (bench: Bench, rows: ReadonlySet<RowName>) => Promise<Part>
}[] = [
  { rows: ['tool-step', 'first-event'], measure: measureAlone },
  { rows: ['throughput'], measure: async (bench) => ({ throughput: await measureThroughput(bench) }) },
  { rows: ['replay'], measure: async (bench) => ({ replay: await measureReplay(bench) }) },
  { rows: ['transactions'], measure: async (bench) => ({ transactions: await countTransactions(bench) }) },
  { rows: ['fan-out'], measure: async (bench) => ({ fanOut: await measureFanOut(bench) }) },
]

/** What makes places and processes of its own. */
const APART: readonly { readonly row: RowName; readonly needsRedis: boolean; readonly measure: (setting: Setting) => Promise<Part> }[] = [
  { row: 'parked', needsRedis: false, measure: async (setting) => ({ parked: await measureParked(setting) }) },
  { row: 'waiting', needsRedis: false, measure: async (setting) => ({ waiting: await measureWaiting(setting) }) },
  { row: 'roles', needsRedis: true, measure: async (setting) => ({ roles: await measureRoles(setting) }) },
  { row: 'pick-up', needsRedis: true, measure: async (setting) => ({ pickUp: await measurePickUp(setting) }) },
]

async function measureAt(place: Place, options: RunOptions): Promise<PlaceResults> {
  const { rows, say } = options
  const figures: Part[] = []
  try {
    const server = await withEngine(place, options, null, async (bench) => {
      for (const { rows: some, measure } of TOGETHER) {
        const wanted = some.filter((row) => rows.has(row))
        if (wanted.length === 0) continue
        say(`${place.kind}: ${wanted.join(', ')}`)
        figures.push(await measure(bench, rows))
      }
      return describeServer(bench.engine.database)
    })
    if (rows.has('long-session')) {
      say(`${place.kind}: long-session`)
      figures.push({ longSession: await withEngine(place, options, 1, measureLongSession) })
    }
    figures.push(...(await measureApart(place, options)))
    return {
      kind: place.kind,
      ...server,
      coordination: place.redis === null ? 'local' : 'redis',
      figures: figures.reduce((all, part) => ({ ...all, ...part }), {}),
    }
  } finally {
    await place.drop()
  }
}

async function measureApart({ kind, databaseUrl, redis }: Place, options: RunOptions): Promise<readonly Part[]> {
  const { rows, signal, say } = options
  const parts: Part[] = []
  for (const { row, needsRedis, measure } of APART) {
    if (!rows.has(row) || databaseUrl === null || (needsRedis && redis === null)) continue
    signal.throwIfAborted()
    say(`${kind}: ${row}`)
    parts.push(await measure(toSetting(options)))
  }
  return parts
}

async function withEngine<Value>(
  place: Place,
  { sizes, signal, say }: RunOptions,
  poolSize: number | null,
  measure: (bench: Bench) => Promise<Value>,
): Promise<Value> {
  signal.throwIfAborted()
  const engine = await startEngine({ place, ...(poolSize !== null && { poolSize }), warn: (message) => say(`! ${message}`) })
  const client = createGraphqlClient(engine.url)
  try {
    return await measure({ engine, client, sizes, signal })
  } finally {
    client.close()
    await engine.close()
  }
}

const SERVER = defineStatement<{ readonly version: string; readonly fsync: string }>(
  'bench-server',
  `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync`,
)

async function describeServer(database: Database): Promise<Pick<PlaceResults, 'server' | 'fsync'>> {
  const [row] = await database.query(SERVER, [])
  const name = database.kind === 'embedded' ? 'PGlite, PostgreSQL' : 'PostgreSQL'
  return { server: `${name} ${row?.version ?? ''}`, fsync: row?.fsync === 'on' }
}
