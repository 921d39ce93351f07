/**
 * Throughput: simple turns a second of many sessions at once, each of which sends its next message when it rests again; in process, and
 * over HTTP, where each session also has its stream. Client, server and, embedded, the database share this process.
 */
import { SIMPLE } from './agent.js'
import type { Bench } from './bench.js'
import type { Throughput } from './results.js'
import { alternate, createSeries, median, type Series } from './series.js'
import { speakTogether, startSpeaker, startSpeakers, type Speaker } from './speaker.js'
import { createSession, startTalk } from './talk.js'

interface Load {
  readonly sessions: number
  readonly turns: number
}

export async function measureThroughput({ engine, client, sizes, signal }: Bench): Promise<readonly Throughput[]> {
  const { throughput, throughputRounds } = sizes
  const inProcess = throughput.map((load) => ({ way: 'in process' as const, load, series: createLoad(load, () => startTalk(engine)) }))
  const overHttp = throughput.slice(-1).map((load) => ({
    ...{ way: 'http' as const, load },
    series: createLoad(load, async () => startSpeaker(client, await createSession(engine))),
  }))
  const variants = [...inProcess, ...overHttp]
  await alternate(
    variants.map(({ series }) => series),
    throughputRounds,
    signal,
  )
  return variants.map(({ way, load, series }) => ({ way, sessions: load.sessions, turnsPerSecond: toTurnsPerSecond(load, series) }))
}

/** Milliseconds for all turns of new sessions; making the sessions is not counted. */
export function createLoad({ sessions, turns }: Load, start: () => Promise<Speaker>): Series {
  return createSeries(async () => {
    const speakers = await startSpeakers(sessions, start)
    const took = await speakTogether(speakers, SIMPLE, turns)
    for (const speaker of speakers) speaker.close()
    return [took]
  })
}

export function toTurnsPerSecond({ sessions, turns }: Load, { rounds }: Series): number {
  return (1000 * sessions * turns) / median(rounds.flat())
}
