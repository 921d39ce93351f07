/**
 * Throughput: simple turns a second of many sessions at once, each of which sends its next message when it rests again; in process, and
 * over HTTP, where each session also has its stream. Client, server and, embedded, the database share this process.
 */
import { SIMPLE } from './agent.js'
import type { Bench } from './bench.js'
import type { Throughput } from './results.js'
import { alternate, createSeries, median, timed, type Series } from './series.js'
import { createRests, createSession, startTalks } from './talk.js'

interface Load {
  readonly sessions: number
  readonly turns: number
}
interface Speaker {
  say(text: string): Promise<void>
  close(): void
}

export async function measureThroughput(bench: Bench): Promise<readonly Throughput[]> {
  const { throughput, throughputRounds } = bench.sizes
  const most = throughput.slice(-1)
  const variants = [
    ...throughput.map((load) => ({
      way: 'in process' as const,
      load,
      series: createLoad(load, () => startTalks(bench.engine, load.sessions)),
    })),
    ...most.map((load) => ({ way: 'http' as const, load, series: createLoad(load, () => startHttpTalks(bench, load.sessions)) })),
  ]
  await alternate(
    variants.map(({ series }) => series),
    throughputRounds,
    bench.signal,
  )
  return variants.map(({ way, load, series }) => ({
    way,
    sessions: load.sessions,
    turnsPerSecond: (1000 * load.sessions * load.turns) / median(series.rounds.flat()),
  }))
}

/** Milliseconds for all turns of new sessions; making the sessions is not counted. */
function createLoad({ turns }: Load, open: () => Promise<readonly Speaker[]>): Series {
  return createSeries(async () => {
    const speakers = await open()
    const took = await timed(() => Promise.all(speakers.map((speaker) => speak(speaker, turns))))
    for (const speaker of speakers) speaker.close()
    return [took]
  })
}

async function speak(speaker: Speaker, turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await speaker.say(SIMPLE)
}

function startHttpTalks(bench: Bench, count: number): Promise<readonly Speaker[]> {
  return Promise.all(Array.from({ length: count }, () => startHttpTalk(bench)))
}

async function startHttpTalk({ engine, client }: Bench): Promise<Speaker> {
  const sessionId = await createSession(engine)
  const rests = createRests()
  const stream = await client.follow(sessionId, ({ events }) => rests.hear(events))
  return {
    close: () => stream.close(),
    async say(text) {
      const rested = rests.next()
      await client.send(sessionId, text)
      await rested
    },
  }
}
