/**
 * Parked sessions: waking one of many against waking one of few, in turns, in two databases. Each wake is of a session that nobody has touched
 * since it was parked. What a server keeps of them in memory is seen at a process that has just started on each database.
 */
import { SIMPLE } from './agent.js'
import type { Setting } from './bench.js'
import { withCleanup, type Cleanup } from './cleanup.js'
import { startEngine, type Engine } from './engine.js'
import { createPlace, type Place } from './place.js'
import { createLottery, parkedId, parkSessions, readDatabaseMiB } from './parked-sessions.js'
import type { Parked, ParkedSide } from './results.js'
import { alternate, createSeries, toRatio, toTiming, type Series } from './series.js'
import { startServerProcess } from './server-process.js'
import { createSession, resumeTalk } from './talk.js'

interface Side {
  readonly firstEvent: Series
  /** Filled together with it. */
  readonly turn: Series
  toSide(): Promise<ParkedSide>
}

/** Needs PostgreSQL: the embedded database is no place for so many. */
export async function measureParked(setting: Setting): Promise<Parked> {
  const { sizes, signal } = setting
  return withCleanup(signal, async (cleanup) => {
    const few = await openSide(setting, sizes.parked.few, cleanup)
    const many = await openSide(setting, sizes.parked.many, cleanup)
    await alternate([few.firstEvent, many.firstEvent], sizes.rounds, signal)
    return { few: await few.toSide(), many: await many.toSide(), manyToFew: toRatio(many.firstEvent, few.firstEvent) }
  })
}

async function openSide(setting: Setting, count: number, cleanup: Cleanup): Promise<Side> {
  const { services, sizes, signal, say, warn } = setting
  const place = await createPlace(services)
  cleanup(() => place.drop())
  const engine = await startEngine({ place, warn })
  cleanup(() => engine.close())
  say(`${place.kind}: making ${count} parked sessions`)
  await park(engine, place, count, signal)
  const next = createLottery(count)
  const turn = createSeries(() => Promise.resolve([]))
  const firstEvent = createSeries(async () => {
    const turns: number[] = []
    const events: number[] = []
    while (events.length < sizes.parked.wakes) {
      const talk = await resumeTalk(engine, parkedId(next()))
      const { firstEventMs, turnMs } = await talk.say(SIMPLE)
      talk.close()
      events.push(firstEventMs)
      turns.push(turnMs)
    }
    turn.rounds.push(turns)
    return events
  })
  return { firstEvent, turn, toSide: () => toSide({ place, engine, setting, count, firstEvent, turn }) }
}

async function park(engine: Engine, place: Place, count: number, signal: AbortSignal): Promise<void> {
  const template = await createSession(engine)
  const talk = await resumeTalk(engine, template)
  await talk.say(SIMPLE)
  talk.close()
  await parkSessions(place.databaseUrl ?? '', template, count, signal)
}

interface Measured {
  readonly place: Place
  readonly engine: Engine
  readonly setting: Setting
  readonly count: number
  readonly firstEvent: Series
  readonly turn: Series
}

async function toSide({ place, engine, setting: { signal, warn }, count, firstEvent, turn }: Measured): Promise<ParkedSide> {
  const databaseMiB = await readDatabaseMiB(engine.database)
  const { residentMiB, startMs } = await withCleanup(signal, async (cleanup) => {
    const server = await startServerProcess({ place, role: 'all', warn }, cleanup)
    return { residentMiB: await server.resident(), startMs: server.startMs }
  })
  return {
    sessions: count,
    firstEvent: toTiming(firstEvent),
    // The round that does not count was noted too.
    turn: toTiming({ ...turn, rounds: turn.rounds.slice(1) }),
    startMs,
    residentMiB,
    databaseMiB,
  }
}
