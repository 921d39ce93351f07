/** The bench on PostgreSQL and Redis, as small as it can be, with real processes that are killed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import pg from 'pg'
import { judge } from '../../bench/budget.js'
import type { Results } from '../../bench/results.js'
import { parseRows } from '../../bench/rows.js'
import { runBench } from '../../bench/run.js'
import { createTestDatabase, type TestDatabase } from '../support/databases.js'
import { TEST_REDIS_URL, withRedis } from '../support/redis.js'
import { ResultsSchema } from './figures.js'
import { TINY } from './tiny.js'

const ROWS = parseRows('tool-step,first-event,long-session,replay,fan-out,parked,waiting,roles,pick-up')
let database: TestDatabase
beforeAll(async () => (database = await createTestDatabase()))
afterAll(() => database.drop())

/** What is named after the database that the bench was given. */
async function leftovers(): Promise<readonly string[]> {
  const name = new URL(database.url).pathname.slice(1)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query<{ readonly datname: string }>('SELECT datname FROM pg_database WHERE datname LIKE $1', [`${name}_%`])
  await client.end()
  return [...rows.map(({ datname }) => datname), ...(await withRedis((redis) => redis.keys(`*${name}*`)))]
}

describe('the bench on PostgreSQL and Redis', () => {
  it('finds every figure, with a verdict on each promise, and leaves nothing behind', async ({ signal }) => {
    const results: Results = await runBench({
      ...{ version: '9.9.9', sizes: TINY, rows: ROWS, kinds: new Set(['postgres']), signal },
      services: { databaseUrl: database.url, redisUrl: TEST_REDIS_URL },
      say: () => undefined,
    })
    const [place] = ResultsSchema.parse(JSON.parse(JSON.stringify(results))).places
    expect(place).toMatchObject({ kind: 'postgres', coordination: 'redis' })
    const { parked, waiting, pickUp, roles, ...figures } = place?.figures ?? {}
    expect(Object.keys(figures).sort()).toEqual(['bareCommit', 'fanOut', 'firstEvent', 'longSession', 'replay', 'toolStep'])
    expect([parked?.few.sessions, parked?.many.sessions]).toEqual([TINY.parked.few, TINY.parked.many])
    expect([waiting?.few.sessions, waiting?.many.sessions]).toEqual([TINY.waiting.few, TINY.waiting.many])
    expect([waiting?.few, waiting?.many].map((side) => [side?.started.samples, side?.turn.samples, side?.queue.samples])).toEqual([
      [TINY.waiting.wakes, TINY.waiting.wakes, TINY.waiting.queries],
      [TINY.waiting.wakes, TINY.waiting.wakes, TINY.waiting.queries],
    ])
    expect(pickUp).toMatchObject({ kills: TINY.pickUp.kills, lost: 0, repeatedCalls: 0 })
    expect(pickUp?.pickedUp.samples).toBe(TINY.pickUp.kills)
    expect(roles?.apart.firstEvent.samples).toBe(TINY.roles.sends)
    // With one round the ratio is that of the medians beside it.
    expect(figures.toolStep?.toBare).toBeCloseTo((figures.toolStep?.perStep.p50Ms ?? 0) / (figures.bareCommit?.p50Ms ?? 0))
    expect(judge(results).map(({ figure }) => figure)).toEqual([
      'one-tool step to a bare commit',
      'one-tool step to its statements',
      'accepted → first event, to a bare commit',
      'turn 6 to turn 5, model input aside',
      '500 parked sessions to 20: waking one',
      '… memory of a server',
      '500 sessions that wait for a person to 20: answering one',
      '… whole turn',
      '… first page of the queue',
      '… memory of a server',
      '… leases, timers, connections for them',
      'replay of a log from the store',
      '… through GraphQL over SSE',
      '6 subscribers of 2 sessions, to bare Node',
      'worker killed mid-turn → picked up, the slowest',
      '… turns lost',
      '… started calls run twice',
    ])
    expect(await leftovers()).toEqual([])
  }, 300_000)
})
