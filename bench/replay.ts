/** Replay: reads a long log from its beginning, page by page from the store, through the feed, and as batches over GraphQL and HTTP. */
import type { SessionId } from '../server/ids.js'
import type { Bench } from './bench.js'
import type { Engine } from './engine.js'
import { LOG_LEASE_MS, openLog } from './log.js'
import type { Replay } from './results.js'
import { alternate, createSeries, median, timed, type Series } from './series.js'

const ROUNDS = 3
/** The feed's own. */
const PAGE = 100
const TEXT = 'once upon a time, '

export async function measureReplay({ engine, client, sizes, signal }: Bench): Promise<Replay> {
  const { events } = sizes
  const sessionId = await writeLog(engine, events)
  const series = (read: () => Promise<number>): Series =>
    createSeries(async () => [
      await timed(async () => {
        const count = await read()
        if (count !== events) throw new Error(`a log of ${events} events was replayed as ${count}`)
      }),
    ])
  const ways = {
    store: series(() => readStore(engine, sessionId)),
    feed: series(() => readFeed(engine, sessionId)),
    graphql: series(() => client.replay(sessionId)),
  }
  await alternate([ways.store, ways.feed, ways.graphql], ROUNDS, signal)
  const perSecond = ({ rounds }: Series): number => (1000 * events) / median(rounds.flat())
  return { events, store: perSecond(ways.store), feed: perSecond(ways.feed), graphql: perSecond(ways.graphql) }
}

async function readStore({ store }: Engine, sessionId: SessionId): Promise<number> {
  let position = 0
  for (;;) {
    const page = await store.readEvents(sessionId, position, PAGE)
    position = page.at(-1)?.position ?? position
    if (page.length < PAGE) return position
  }
}

async function readFeed({ feed }: Engine, sessionId: SessionId): Promise<number> {
  let count = 0
  const { signal } = new AbortController()
  for await (const { events } of feed.follow(sessionId, { after: 0, follow: false, signal })) count += events.length
  return count
}

/** Streamed text, as most of a log is, four pieces a write. */
async function writeLog(engine: Engine, events: number): Promise<SessionId> {
  const log = await openLog(engine)
  for (let written = 0; written < events; written += 4) {
    const count = Math.min(4, events - written)
    const batch = Array.from({ length: count }, (_, index) => log.piece(TEXT.length * (written + index), TEXT))
    await engine.store.appendEvents([{ lease: log.lease, events: batch }], LOG_LEASE_MS)
  }
  return log.lease.sessionId
}
