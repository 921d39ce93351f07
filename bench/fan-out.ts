/**
 * Fan-out: events of some sessions to many subscribers, who all sent the one document of the SDK, against bare Node that writes the same
 * bytes to as many responses. Alone: `npm run bench -- --only fan-out`.
 *
 * This process serves; the subscribers are in one of their own. A round is one event in every session: written to the log for all sessions
 * in one statement, then published, as a worker does while its models stream. The next one begins while the last one is still on its
 * way, but no sooner: what is measured is how fast they pass, not how a queue grows. Bare Node has the frames ready and writes nothing else.
 */
import { createServer, type ServerResponse } from 'node:http'
import { SessionEventsDocument } from '../sdk/generated/documents.js'
import { systemClock } from '../server/clock.js'
import type { SessionId } from '../server/ids.js'
import { openAudience, type Audience } from './audience.js'
import type { Bench } from './bench.js'
import { withCleanup } from './cleanup.js'
import type { Engine } from './engine.js'
import { closeServer, listen } from './listen.js'
import { LOG_LEASE_MS, openLog, type OpenLog } from './log.js'
import type { FanOut, FanOutSide } from './results.js'
import { alternate, createSeries, median, toRatio, type Series } from './series.js'
import type { Sizes } from './sizes.js'

/** What a model says in some 20 ms. */
const PIECE = 'a piece of a long story, '
/** Rounds on their way at the same time. */
const WINDOW = 2

/** One way to serve a round to everybody. */
interface Stage {
  readonly audience: Audience
  readonly perform: () => Promise<void>
  readonly close: () => Promise<void>
}

export async function measureFanOut({ engine, sizes, signal }: Bench): Promise<FanOut> {
  const { fanOut } = sizes
  return withCleanup(signal, async (cleanup) => {
    const perdure = await openPerdure(engine, fanOut)
    cleanup(() => perdure.close())
    const bare = await openBare(await findFrame(perdure), fanOut)
    cleanup(() => bare.close())
    const [ours, theirs] = [createSide(perdure, fanOut, 1), createSide(bare, fanOut, 0)]
    await alternate([ours.series, theirs.series], fanOut.samples, signal)
    return {
      sessions: fanOut.sessions,
      subscribers: fanOut.subscribers,
      perdure: ours.toSide(),
      bare: theirs.toSide(),
      // As many deliveries in each: the times' ratio, the other way round.
      shareOfBare: toRatio(theirs.series, ours.series),
      cpuShareOfBare: toRatio(theirs.cpu, ours.cpu),
    }
  })
}

interface Side {
  readonly series: Series
  /** Microseconds of a delivery; filled together with it. */
  readonly cpu: Series
  toSide(): FanOutSide
}

/** `marks` is how many events every subscriber has got so far. */
function createSide(stage: Stage, { subscribers, rounds }: Sizes['fanOut'], marks: number): Side {
  const deliveries = subscribers * rounds
  const cpu = createSeries(() => Promise.resolve([]))
  const bytes: number[] = []
  let sent = marks
  const series = createSeries(async () => {
    const before = process.cpuUsage()
    const started = systemClock.monotonic()
    const goal = sent + rounds
    const { bytes: bytesBefore } = await stage.audience.heard(sent)
    while (sent < goal) {
      await stage.audience.heard(sent - WINDOW + 1)
      await stage.perform()
      sent += 1
    }
    const after = await stage.audience.heard(goal)
    const took = systemClock.monotonic() - started
    const { user, system } = process.cpuUsage(before)
    bytes.push((after.bytes - bytesBefore) / deliveries)
    if (bytes.length > 1) cpu.rounds.push([(user + system) / deliveries])
    return [took]
  })
  return {
    series,
    cpu,
    toSide: () => ({
      deliveriesPerSecond: (1000 * deliveries) / median(series.rounds.flat()),
      cpuMicros: median(cpu.rounds.flat()),
      bytes: median(bytes),
    }),
  }
}

async function openPerdure(engine: Engine, { sessions, subscribers }: Sizes['fanOut']): Promise<Stage> {
  const logs: OpenLog[] = []
  while (logs.length < sessions) logs.push(await openLog(engine))
  const audience = await openAudience({
    url: engine.url.href,
    bodies: logs.map(({ lease }) => toBody(lease.sessionId)),
    subscribers: subscribers / sessions,
    live: '"caughtUp":true',
    mark: PIECE,
  })
  let round = 0
  return {
    audience,
    async perform() {
      const batches = logs.map(({ lease, piece }) => ({ lease, events: [piece(PIECE.length * round, PIECE)] }))
      round += 1
      const outcomes = await engine.store.appendEvents(batches, LOG_LEASE_MS)
      for (const [sessionId, outcome] of outcomes) {
        if (outcome.kind !== 'appended') throw new Error(`an event was not appended: ${outcome.kind}`)
        engine.coordinator.publish(sessionId, outcome.events)
      }
    },
    close: () => audience.close(),
  }
}

function toBody(sessionId: SessionId): string {
  return JSON.stringify({ query: SessionEventsDocument, variables: { session: { id: sessionId }, follow: true } })
}

/** What a subscriber gets of one round. */
async function findFrame({ audience, perform }: Stage): Promise<string> {
  await perform()
  const { sample } = await audience.heard(1)
  const frame = sample.match(/event: next\ndata: .*\n\n/g)?.find((text) => text.includes(PIECE))
  if (frame === undefined) throw new Error(`no event of a stream: ${sample}`)
  return frame
}

async function openBare(frame: string, { sessions, subscribers }: Sizes['fanOut']): Promise<Stage> {
  const responses: ServerResponse[] = []
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    response.write(':live\n\n')
    responses.push(response)
  })
  const url = await listen(server)
  const order = { url: url.href, bodies: Array.from({ length: sessions }, () => '{}'), live: ':live', mark: PIECE }
  const audience = await openAudience({ ...order, subscribers: subscribers / sessions })
  return {
    audience,
    perform() {
      for (const response of responses) response.write(frame)
      return Promise.resolve()
    },
    async close() {
      await audience.close()
      await closeServer(server)
    },
  }
}
