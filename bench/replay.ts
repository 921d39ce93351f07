/** Replay: reads a long log from its beginning, page by page from the store, through the feed, and as batches over GraphQL and HTTP. */
import { systemClock as clock } from '../server/clock.js'
import type { SessionId } from '../server/ids.js'
import type { StreamedEvent } from '../server/session/events.js'
import type { Bench } from './bench.js'
import { CALLER, DEPLOYMENT, type Engine } from './engine.js'
import type { Replay } from './results.js'
import { alternate, createSeries, median, timed, type Series } from './series.js'

const ROUNDS = 3
/** The feed's own. */
const PAGE = 100
/** Of a log that nobody drives. */
const NOBODY = 'bench-log'
const LEASE_MS = 60_000

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
async function writeLog({ store, ids }: Engine, events: number): Promise<SessionId> {
  const sessionId = ids.next('ses')
  const content = { kind: 'MESSAGE', text: 'Tell me a long story', policy: 'STEER' } as const
  const firstDelivery = { id: ids.next('dlv'), by: CALLER, content, acceptedAt: clock.now() }
  await store.createSession({
    ...{ id: sessionId, agent: NOBODY, owner: CALLER, title: null, metadata: {}, addresses: [], deployment: DEPLOYMENT, history: [] },
    ...{ createdAt: clock.now(), firstDelivery, idempotency: null },
  })
  const claimed = await store.claim(sessionId, { owner: ids.next('wrk'), ttlMs: LEASE_MS, agents: [NOBODY] })
  if (claimed === 'not-due') throw new Error('the log could not be written: its session is not due')
  const scope = { turnId: ids.next('turn'), stepIndex: 0, attempt: 1 }
  const blockId = ids.next('blk')
  const piece = (offset: number): StreamedEvent => ({
    ...scope,
    type: 'LLM_CHUNK',
    data: { blockId, offset, text: 'once upon a time, ' },
    at: clock.now(),
  })
  for (let written = 0; written < events; written += 4) {
    const batch = Array.from({ length: Math.min(4, events - written) }, (_, index) => piece(18 * (written + index)))
    await store.appendEvents([{ lease: claimed.lease, events: batch }], LEASE_MS)
  }
  return sessionId
}
