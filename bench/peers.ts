/**
 * Peers: the same work done by Perdure and by eve, in turns, on one machine in one run. Each has one server process; the model server, which
 * answers at once over HTTP, and the client are the same for both. Only ratios of one run mean something.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { systemClock } from '../server/clock.js'
import { SIMPLE } from './agent.js'
import type { Setting } from './bench.js'
import { withCleanup } from './cleanup.js'
import { openEveContestant, openPerdure, type Contestant } from './contestant.js'
import { ASK, startModelServer } from './model-server.js'
import type { PeerSide, PeersResults } from './results.js'
import { alternate, createSeries, median, repeat, toRatio, toTiming, type Series } from './series.js'
import type { PeerSizes } from './sizes.js'
import type { Speaker } from './speaker.js'
import { createLoad, toTurnsPerSecond } from './throughput.js'

const EARLY_TURN = 5
/** Turns around one that say how long it takes. */
const AROUND = 5
/** After it what was written before has come, and is not taken for news. */
const SETTLE_MS = 500

export async function measurePeers(setting: Setting): Promise<PeersResults> {
  const { sizes, signal, say } = setting
  return withCleanup(signal, async (cleanup) => {
    const model = await startModelServer()
    cleanup(() => model.close())
    const contestants = { eve: await openEveContestant(setting, model, cleanup), perdure: await openPerdure(setting, model, cleanup) }
    const sides = { perdure: createMeasures(contestants.perdure, sizes.peers), eve: createMeasures(contestants.eve, sizes.peers) }
    const both = [sides.perdure, sides.eve]
    for (const name of ['firstEvent', 'perStep', 'load'] as const) {
      say(`peers: ${name}`)
      await alternate(
        both.map((side) => side[name]),
        sizes.peers.rounds,
        signal,
      )
    }
    return {
      perdure: await toSide(contestants.perdure, sides.perdure, setting),
      eve: await toSide(contestants.eve, sides.eve, setting),
      // As many turns in each: the times' ratio, the other way round.
      turnsRatio: toRatio(sides.eve.load, sides.perdure.load),
    }
  })
}

interface Measures {
  readonly firstEvent: Series
  /** Filled together with it. */
  readonly turn: Series
  readonly perStep: Series
  readonly load: Series
}

function createMeasures({ open }: Contestant, { turns, steps, load }: PeerSizes): Measures {
  const turn = createSeries(() => Promise.resolve([]))
  const withSpeaker = async <Value>(use: (speaker: Speaker) => Promise<Value>): Promise<Value> => {
    const speaker = await open()
    const value = await use(speaker)
    speaker.close()
    return value
  }
  return {
    turn,
    load: createLoad(load, open),
    firstEvent: createSeries(() =>
      withSpeaker(async (speaker) => {
        const firstEvents: number[] = []
        const whole: number[] = []
        while (whole.length < turns) {
          const { firstEventMs, turnMs } = await speaker.say(SIMPLE)
          firstEvents.push(firstEventMs)
          whole.push(turnMs)
        }
        turn.rounds.push(whole)
        return firstEvents
      }),
    ),
    perStep: createSeries(() =>
      withSpeaker((speaker) =>
        repeat(3, async () => {
          const simple = (await speaker.say(SIMPLE)).turnMs
          return ((await speaker.say(ASK.steps(steps))).turnMs - simple) / steps
        }),
      ),
    ),
  }
}

async function toSide(
  contestant: Contestant,
  { firstEvent, turn, perStep, load }: Measures,
  { sizes, signal, say }: Setting,
): Promise<PeerSide> {
  const { load: size, capMs, lateTurn } = sizes.peers
  say(`peers: ${contestant.name}, turn ${lateTurn} of a session`)
  const longSession = await measureLong(contestant, lateTurn, signal)
  say(`peers: ${contestant.name}, killed in the middle of a turn`)
  const afterKillMs = await measureKill(contestant, capMs, signal)
  return {
    name: contestant.name,
    storage: contestant.storage,
    sessions: size.sessions,
    turnsPerSecond: toTurnsPerSecond(size, load),
    firstEvent: toTiming(firstEvent),
    // The round that does not count was noted too.
    turn: toTiming({ ...turn, rounds: turn.rounds.slice(1) }),
    perStepMs: median(perStep.rounds.flat()),
    longSession,
    afterKillMs,
    capMs,
  }
}

/** The first turn is over when a session is open. */
async function measureLong({ open }: Contestant, lateTurn: number, signal: AbortSignal): Promise<PeerSide['longSession']> {
  const speaker = await open()
  const times: number[] = []
  while (times.length < lateTurn - 1) {
    signal.throwIfAborted()
    times.push((await speaker.say(SIMPLE)).turnMs)
  }
  speaker.close()
  const around = (turn: number): number => median(times.slice(Math.max(0, turn - 2 - Math.floor(AROUND / 2))).slice(0, AROUND))
  const [earlyMs, lateMs] = [around(EARLY_TURN), median(times.slice(-AROUND))]
  return { early: EARLY_TURN, late: lateTurn, earlyMs, lateMs, lateToEarly: lateMs / earlyMs }
}

/** Milliseconds; null: longer than the cap. */
async function measureKill(contestant: Contestant, capMs: number, signal: AbortSignal): Promise<number | null> {
  const held = await contestant.openHeld(randomUUID())
  await wait(SETTLE_MS)
  await contestant.kill()
  const killedAt = systemClock.monotonic()
  await contestant.restart()
  const goesOn = held.next().then(() => systemClock.monotonic() - killedAt)
  const took = await Promise.race([goesOn, wait(capMs, null, { signal })])
  held.close()
  return took
}
