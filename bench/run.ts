/** One run: the same measurements on each database. Owns the databases and the engines; whatever happens, they are closed and dropped. */
import { cpus, loadavg, totalmem, type } from 'node:os'
import { systemClock } from '../server/clock.js'
import { defineStatement, type Database } from '../server/store/database.js'
import { createBareCommit } from './bare-commit.js'
import type { Bench } from './bench.js'
import { startEngine, type EngineOptions } from './engine.js'
import { createInProcess, createOverHttp, toFirstEvent } from './first-event.js'
import { createGraphqlClient } from './graphql-client.js'
import { measureLongSession } from './long-session.js'
import { createDatabase, createFolder, type Place } from './place.js'
import { measureReplay } from './replay.js'
import type { DatabaseResults, Results } from './results.js'
import { alternate, toRatio, toTiming } from './series.js'
import type { Sizes } from './sizes.js'
import { measureThroughput } from './throughput.js'
import { createBareStatements, createToolStep } from './tool-step.js'
import { countTransactions } from './transactions.js'

export interface RunOptions {
  readonly version: string
  readonly sizes: Sizes
  /** The bench makes a database of its own beside this one; null: the embedded database alone. */
  readonly databaseUrl: string | null
  readonly signal: AbortSignal
  /** Hears what is being measured, and of what should not happen meanwhile. */
  readonly say: (line: string) => void
}

/** Throws the signal's reason when it aborts. */
export async function runBench(options: RunOptions): Promise<Results> {
  const { databaseUrl, version } = options
  const machine = describeMachine()
  const databases: DatabaseResults[] = []
  databases.push(await measureAt(await createFolder(), options))
  if (databaseUrl !== null) databases.push(await measureAt(await createDatabase(databaseUrl), options))
  return { version, at: new Date(systemClock.now()).toISOString(), machine, databases }
}

function describeMachine(): Results['machine'] {
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

async function measureAt(place: Place, options: RunOptions): Promise<DatabaseResults> {
  const { say } = options
  const warn = (message: string): void => say(`! ${message}`)
  try {
    const most = await withEngine({ place, warn }, options, (bench) => measureTogether(place, bench, say))
    say(`${place.kind}: turn ${options.sizes.lateTurn} of a session`)
    const longSession = await withEngine({ place, poolSize: 1, warn }, options, measureLongSession)
    return { ...most, longSession }
  } finally {
    await place.drop()
  }
}

async function withEngine<Value>(
  engineOptions: EngineOptions,
  { sizes, signal }: RunOptions,
  measure: (bench: Bench) => Promise<Value>,
): Promise<Value> {
  signal.throwIfAborted()
  const engine = await startEngine(engineOptions)
  const client = createGraphqlClient(engine.url)
  try {
    return await measure({ engine, client, sizes, signal })
  } finally {
    client.close()
    await engine.close()
  }
}

async function measureTogether(place: Place, bench: Bench, say: RunOptions['say']): Promise<Omit<DatabaseResults, 'longSession'>> {
  const server = await describeServer(bench.engine.database)
  say(`${place.kind}: bare commits, one-tool steps, first events`)
  const alone = await measureAlone(bench)
  say(`${place.kind}: turns per second`)
  const throughput = await measureThroughput(bench)
  say(`${place.kind}: replay`)
  const replay = await measureReplay(bench)
  const transactions = await countTransactions(bench)
  return { kind: place.kind, ...server, ...alone, throughput, replay, transactions }
}

/** One client at a time: the variants take turns, so that their ratios hold on a machine that others use too. */
async function measureAlone(bench: Bench): Promise<Pick<DatabaseResults, 'bareCommit' | 'toolStep' | 'firstEvent'>> {
  const bare = await createBareCommit(bench)
  const step = createToolStep(bench)
  const statements = await createBareStatements(bench)
  const inProcess = await createInProcess(bench)
  const http = await createOverHttp(bench)
  await alternate([bare, statements, step, inProcess.sinceSent, http.sinceSent], bench.sizes.rounds, bench.signal)
  inProcess.close()
  http.close()
  return {
    bareCommit: toTiming(bare),
    toolStep: {
      perStep: toTiming(step),
      statements: toTiming(statements),
      toBare: toRatio(step, bare),
      toStatements: toRatio(step, statements),
    },
    firstEvent: { inProcess: toFirstEvent(inProcess, bare), http: toFirstEvent(http, bare) },
  }
}

const SERVER = defineStatement<{ readonly version: string; readonly fsync: string }>(
  'bench-server',
  `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync`,
)

async function describeServer(database: Database): Promise<Pick<DatabaseResults, 'server' | 'fsync'>> {
  const [row] = await database.query(SERVER, [])
  const name = database.kind === 'embedded' ? 'PGlite, PostgreSQL' : 'PostgreSQL'
  return { server: `${name} ${row?.version ?? ''}`, fsync: row?.fsync === 'on' }
}
