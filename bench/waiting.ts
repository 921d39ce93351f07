/**
 * Sessions that wait for a person: answering one of many against answering one of few, in turns, in two databases; and what is held of those
 * that wait, before the first of them is answered. Some of either side were driven by this process until they waited, the others are copies.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../server/clock.js'
import type { Setting } from './bench.js'
import { withCleanup, type Cleanup } from './cleanup.js'
import { startEngine, type Engine } from './engine.js'
import { createGraphqlClient } from './graphql-client.js'
import { countConnections, countLeases, watchCount } from './held.js'
import { createLottery, parkedId, parkedRequestId, parkSessions, readDatabaseMiB } from './parked-sessions.js'
import { createPlace, type Place } from './place.js'
import type { Held, Timing, Waiting, WaitingSide } from './results.js'
import { alternate, createSeries, repeat, timed, toRatio, toTiming, type Series } from './series.js'
import { startServerProcess } from './server-process.js'
import { approve, startWaiting } from './talk.js'

/** As many as a client gets that does not say how many. */
const PAGE = 50
/** How the server processes call themselves at the database, where this process goes by the engine's usual name. */
const APPLICATION = 'bench-server'

/** Needs PostgreSQL: the embedded database is no place for so many. */
export async function measureWaiting(setting: Setting): Promise<Waiting> {
  const { sizes, signal } = setting
  return withCleanup(signal, async (cleanup) => {
    const few = await openSide(setting, sizes.waiting.few, cleanup)
    const many = await openSide(setting, sizes.waiting.many, cleanup)
    const [fewHeld, manyHeld] = await readHeld(setting, [few, many])
    const [fewAnswers, manyAnswers] = [createAnswers(few, sizes.waiting.wakes), createAnswers(many, sizes.waiting.wakes)]
    const [fewQueue, manyQueue] = [createQueue(few, setting, cleanup), createQueue(many, setting, cleanup)]
    await alternate([fewAnswers.started, manyAnswers.started, fewQueue, manyQueue], sizes.rounds, signal)
    return {
      few: { ...fewHeld, ...toTimings(fewAnswers, fewQueue) },
      many: { ...manyHeld, ...toTimings(manyAnswers, manyQueue) },
      manyToFew: toRatio(manyAnswers.started, fewAnswers.started),
      turnManyToFew: toRatio(manyAnswers.turn(), fewAnswers.turn()),
      queueManyToFew: toRatio(manyQueue, fewQueue),
    }
  })
}

interface Side {
  readonly place: Place
  readonly engine: Engine
  readonly sessions: number
  readonly timersBefore: number
}

async function openSide({ services, sizes, signal, say, warn }: Setting, count: number, cleanup: Cleanup): Promise<Side> {
  const place = await createPlace(services)
  cleanup(() => place.drop())
  const engine = await startEngine({ place, warn })
  cleanup(() => engine.close())
  const timersBefore = await watchCount(engine.timers, signal)
  say(`${place.kind}: making ${count} waiting sessions`)
  const template = await startWaiting(engine)
  await parkSessions(place.databaseUrl ?? '', template, count, signal)
  for (let driven = 0; driven < sizes.waiting.driven; driven += 1) await startWaiting(engine)
  return { place, engine, sessions: count, timersBefore }
}

// ---- what is held

type AtRest = Omit<WaitingSide, 'started' | 'turn' | 'queue'>

/** Of this process once it has nothing left of having parked them, and of server processes that have just started. */
async function readHeld({ sizes, signal, warn }: Setting, [few, many]: readonly [Side, Side]): Promise<[AtRest, AtRest]> {
  const parkedAt = systemClock.monotonic()
  return withCleanup(signal, async (cleanup) => {
    const start = async ({ place, engine }: Side) => {
      const server = await startServerProcess({ place: withName(place), role: 'all', warn }, cleanup)
      return { startMs: server.startMs, residentMiB: await server.resident(), databaseMiB: await readDatabaseMiB(engine.database) }
    }
    const [atFew, atMany] = [await start(few), await start(many)]
    await wait(Math.max(0, parkedAt + sizes.waiting.restMs - systemClock.monotonic()), undefined, { signal })
    return [
      { sessions: few.sessions, held: await count(few, signal), ...atFew },
      { sessions: many.sessions, held: await count(many, signal), ...atMany },
    ]
  })
}

async function count({ engine, timersBefore }: Side, signal: AbortSignal): Promise<Held> {
  const { database } = engine
  return {
    leases: await countLeases(database),
    connections: await watchCount(() => countConnections(database, APPLICATION), signal),
    timersBefore,
    timers: await watchCount(engine.timers, signal),
  }
}

function withName(place: Place): Place {
  const url = new URL(place.databaseUrl ?? '')
  url.searchParams.set('application_name', APPLICATION)
  return { ...place, env: { ...place.env, DATABASE_URL: url.href } }
}

// ---- how long it takes

interface Answers {
  readonly started: Series
  /** Filled together with it. */
  turn(): Series
}

function createAnswers({ engine, sessions }: Side, wakes: number): Answers {
  const next = createLottery(sessions)
  const turn = createSeries(() => Promise.resolve([]))
  const started = createSeries(async () => {
    const starts: number[] = []
    const turns: number[] = []
    while (starts.length < wakes) {
      const number = next()
      const { acceptedMs, firstEventMs, turnMs } = await approve(engine, parkedId(number), parkedRequestId(number))
      starts.push(Math.max(0, firstEventMs - acceptedMs))
      turns.push(turnMs)
    }
    turn.rounds.push(turns)
    return starts
  })
  // The round that does not count was noted too.
  return { started, turn: () => ({ ...turn, rounds: turn.rounds.slice(1) }) }
}

function createQueue({ engine, sessions }: Side, { sizes }: Setting, cleanup: Cleanup): Series {
  const client = createGraphqlClient(engine.url)
  cleanup(() => client.close())
  const open = sessions - sizes.waiting.wakes * (sizes.rounds + 1)
  const readPage = async (): Promise<void> => {
    const found = await client.readQueue(PAGE)
    if (found < Math.min(PAGE, open)) throw new Error(`the queue of ${sessions} requests showed ${found} of them`)
  }
  return createSeries(() => repeat(sizes.waiting.queries, () => timed(readPage)))
}

function toTimings(answers: Answers, queue: Series): Readonly<Record<'started' | 'turn' | 'queue', Timing>> {
  return { started: toTiming(answers.started), turn: toTiming(answers.turn()), queue: toTiming(queue) }
}
