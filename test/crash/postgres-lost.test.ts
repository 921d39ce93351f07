/**
 * PostgreSQL restarted, and the network between the processes and PostgreSQL or Redis as bad as it gets, in mid-turn. A lease that is not
 * lost meanwhile keeps its session: the turns end as if nothing had been.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startLossyProxy, type LossyProxy } from '../support/lossy-proxy.js'
import { startPostgresServer, type PostgresServer } from '../support/postgres-server.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import { Stage, type Doors } from './stage.js'

/** Longer than a restart takes; a reply may take a quarter of it before the statement is repeated. */
const LEASE_TTL_MS = 8000

let postgres: PostgresServer
let redis: RedisServer
let toPostgres: LossyProxy
let toRedis: LossyProxy
let stage: Stage
let doors: Doors

beforeAll(async () => {
  ;[postgres, redis] = await Promise.all([startPostgresServer(), startRedisServer()])
  ;[toPostgres, toRedis] = await Promise.all([startLossyProxy(postgres.url), startLossyProxy(redis.url)])
  stage = await Stage.create({
    directUrl: postgres.url,
    databaseUrl: toPostgres.url,
    redis: { url: toRedis.url, prefix: 'crash' },
    leaseTtlMs: LEASE_TTL_MS,
  })
  doors = await stage.deployment.startTwo('all')
})
afterAll(async () => {
  await stage.close()
  await Promise.all([toPostgres.close(), toRedis.close()])
  await Promise.all([postgres.close(), redis.close()])
})

interface Trouble {
  readonly name: string
  readonly begin: () => unknown
  /** Called when a message was sent in the middle of it, and before that is answered. */
  readonly end?: () => unknown
}
async function restart(how: 'fast' | 'immediate'): Promise<void> {
  await postgres.stop(how)
  await postgres.start()
}
const TROUBLES: readonly Trouble[] = [
  { name: 'PostgreSQL is restarted (fast)', begin: () => restart('fast') },
  { name: 'PostgreSQL is restarted (immediate)', begin: () => restart('immediate') },
  { name: 'PostgreSQL is away while a message is sent', begin: () => postgres.stop('fast'), end: () => postgres.start() },
  { name: 'connections to PostgreSQL break', begin: () => toPostgres.shut(), end: () => toPostgres.open() },
  { name: 'connections to PostgreSQL fall silent', begin: () => toPostgres.silence() },
  { name: 'connections to PostgreSQL are half closed', begin: () => toPostgres.halfClose() },
  { name: 'replies of PostgreSQL are late', begin: () => toPostgres.delay(300), end: () => toPostgres.delay(0) },
  { name: 'the way to PostgreSQL is narrow', begin: () => toPostgres.throttle(20_000), end: () => toPostgres.throttle(Infinity) },
  { name: 'a reply of PostgreSQL is lost', begin: () => toPostgres.loseNextReply() },
  { name: 'connections to Redis break', begin: () => toRedis.shut(), end: () => toRedis.open() },
  { name: 'connections to Redis fall silent', begin: () => toRedis.silence() },
  { name: 'connections to Redis are half closed', begin: () => toRedis.halfClose() },
  { name: 'the way to Redis is narrow', begin: () => toRedis.throttle(1000), end: () => toRedis.throttle(Infinity) },
  { name: 'a reply of Redis is lost', begin: () => toRedis.loseNextReply() },
]

describe.each(TROUBLES)('$name', ({ begin, end }) => {
  test('turns go on, what is sent meanwhile is delivered once, subscribers get everything', async ({ onTestFinished }) => {
    onTestFinished(async () => {
      await end?.()
    })
    const gate = `trouble-${performance.now()}`
    const [streaming, running, talk] = await Promise.all([
      stage.open(`story ${gate}`, doors),
      stage.open(`charge ${gate}`, doors),
      stage.open('hello', doors),
    ])
    await Promise.all([streaming.until('LLM_CHUNK'), running.until('TOOL_CALL_START'), talk.until('SESSION_WAITING')])
    await begin()
    // Asked again under its key until it is answered.
    const answer = talk.sameElsewhere.send('are you there?').result()
    await end?.()
    expect(await answer).toMatchObject({ status: 'completed', number: 2, text: 'you said: are you there?' })
    await stage.openGate(gate)
    expect(await streaming.result).toMatchObject({ status: 'completed', text: expect.stringMatching(/^word0 .* the end$/) })
    expect(await running.result).toMatchObject({ status: 'completed', text: 'done after step 1' })
    expect([(await streaming.head()).epoch, (await running.head()).epoch]).toEqual([1, 1])
    const ends = (await running.finish()).flatMap((event) => (event.type === 'TOOL_CALL_END' ? [event.data.status] : []))
    expect(ends).toEqual(['COMPLETED'])
    await streaming.finish()
    await talk.finish()
  })
})
