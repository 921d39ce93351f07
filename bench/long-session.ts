/**
 * Long session: a late turn of one session against the fifth of a new one, in turns. The engine's cost is what is left of a turn when the
 * time for reading the history is taken off: the model has to be given that, however it is kept. Needs an engine with one connection, which
 * then can say what it wrote.
 */
import { systemClock } from '../server/clock.js'
import { defineStatement, type Database } from '../server/store/database.js'
import { SIMPLE } from './agent.js'
import type { Bench } from './bench.js'
import { isCommit, type Sent } from './recorder.js'
import type { LongSession, TurnCost } from './results.js'
import { alternate, createSeries, median, toRatio, toTiming, type Series } from './series.js'
import type { Speaker } from './speaker.js'
import { startTalk } from './talk.js'

const EARLY_TURN = 5

export async function measureLongSession(bench: Bench): Promise<LongSession> {
  const { engine, sizes, signal } = bench
  const early = await createProbe(bench)
  const late = await createProbe(bench)
  const old = await startTalk(engine)
  await talkFor(old, sizes.lateTurn - 1, signal)
  const fresh = createSeries(async () => {
    const talk = await startTalk(engine)
    await talkFor(talk, EARLY_TURN - 1, signal)
    const sample = await early.measure(talk)
    talk.close()
    return sample
  })
  const again = createSeries(() => late.measure(old))
  await alternate([fresh, again], sizes.lateSamples, signal)
  old.close()
  return {
    early: early.toCost(EARLY_TURN, fresh),
    late: late.toCost(sizes.lateTurn, again),
    lateToEarly: toRatio(again, fresh),
    lateToEarlyWithoutHistory: toRatio(late.engine, early.engine),
  }
}

async function talkFor(talk: Speaker, turns: number, signal: AbortSignal): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    signal.throwIfAborted()
    await talk.say(SIMPLE)
  }
}

interface Probe {
  /** Milliseconds of one turn. */
  measure(talk: Speaker): Promise<readonly number[]>
  /** The same without reading the history; its first round does not count. */
  readonly engine: Series
  toCost(turn: number, whole: Series): TurnCost
}

async function createProbe({ engine }: Bench): Promise<Probe> {
  const { database, recorder } = engine
  const counter = await createWriteCounter(database)
  const costs: { readonly history: number; readonly took: number; readonly commits: readonly Sent[]; readonly written: Written }[] = []
  const [history, rest] = [createSeries(() => Promise.resolve([])), createSeries(() => Promise.resolve([]))]
  return {
    engine: rest,
    async measure(talk) {
      const before = await counter()
      recorder.take()
      const started = systemClock.monotonic()
      await talk.say(SIMPLE)
      const took = systemClock.monotonic() - started
      const sent = recorder.take()
      recorder.stop()
      const after = await counter()
      const reading = sent.filter(({ statement }) => statement.name === 'load-history').reduce((sum, { ms }) => sum + ms, 0)
      costs.push({ history: reading, took, commits: sent.filter(isCommit), written: minus(after, before) })
      if (costs.length > 1) {
        history.rounds.push([reading])
        rest.rounds.push([took - reading])
      }
      return [took]
    },
    toCost: (turn, whole) => ({
      turn,
      perTurn: toTiming(whole),
      readingHistory: toTiming(history),
      commits: median(costs.map(({ commits }) => commits.length)),
      rows: costs.some(({ written }) => written.rows === null) ? null : median(costs.map(({ written }) => written.rows ?? 0)),
      commitBytes: median(costs.map(({ commits }) => commits.reduce((sum, { values }) => sum + bytesOf(values), 0))),
      walBytes: median(costs.map(({ written }) => written.walBytes)),
    }),
  }
}

function bytesOf(values: Sent['values']): number {
  return values.reduce<number>((sum, value) => sum + Buffer.byteLength(String(value)), 0)
}

interface Written {
  readonly rows: number | null
  readonly walBytes: number
}

const VERSION = defineStatement<{ readonly version: number }>(
  'bench-version',
  `SELECT current_setting('server_version_num')::int AS version`,
)
const FLUSH = defineStatement<object>('bench-flush', 'SELECT pg_stat_force_next_flush()')
const ROWS = defineStatement<{ readonly rows: number }>(
  'bench-rows',
  'SELECT COALESCE(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::float8 AS rows FROM pg_stat_user_tables',
)
const WAL = defineStatement<{ readonly bytes: number }>('bench-wal', `SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes`)
/** The first that lets a connection publish its own counts at once. */
const POSTGRES_15 = 150_000

async function createWriteCounter(database: Database): Promise<() => Promise<Written>> {
  const [server] = await database.query(VERSION, [])
  const counts = (server?.version ?? 0) >= POSTGRES_15
  return async () => {
    if (counts) await database.query(FLUSH, [])
    const [rows] = counts ? await database.query(ROWS, []) : []
    const [wal] = await database.query(WAL, [])
    return { rows: rows?.rows ?? null, walBytes: wal?.bytes ?? Number.NaN }
  }
}

function minus(after: Written, before: Written): Written {
  return {
    rows: after.rows === null || before.rows === null ? null : after.rows - before.rows,
    walBytes: after.walBytes - before.walBytes,
  }
}
