/** Redis emptied, killed, full, read-only and slow under a deployment that shares its work through it: it holds no truth (R5). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/databases.js'
import { startLossyProxy, type LossyProxy } from '../support/lossy-proxy.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import type { ServerProcess } from '../support/server-process.js'
import { PARKED_MS } from './agents.js'
import { Stage, type Doors, type Scene } from './stage.js'

const LEASE_TTL_MS = 2000
/** How long Redis is away in the longest of these tests. */
const OUTAGE_MS = 30_000
/** Between two looks into the database: of each worker for due sessions, of each process for events that it was not told of. */
const LOOK_MS = 1000
/** How long the subscription to a session waits for a Redis that is silent. */
const SILENCE_MS = 1000

let redis: RedisServer
let proxy: LossyProxy
let database: TestDatabase
let stage: Stage
let processes: readonly ServerProcess[]
let doors: Doors
/** For what is done beside the waiting; what a turn takes on this machine now is added to it. */
let allowanceMs = 500

beforeAll(async () => {
  ;[redis, database] = await Promise.all([startRedisServer(), createTestDatabase()])
  proxy = await startLossyProxy(redis.url)
  stage = await Stage.create({ databaseUrl: database.url, redis: { url: proxy.url, prefix: 'crash' }, leaseTtlMs: LEASE_TTL_MS })
  const { deployment } = stage
  const env = { PERDURE_LOG_LEVEL: 'info' }
  const roles = ['api', 'api', 'worker', 'worker'] as const
  processes = await Promise.all(roles.map((role) => deployment.start({ role, env })))
  const [first, second] = processes
  if (first === undefined || second === undefined) throw new Error('two doors')
  doors = [first, second]
  const scene = await stage.open('hello', doors)
  await scene.until('TURN_COMPLETED')
  allowanceMs += (await scene.exchange('again')).toldMs
  await scene.finish()
})
afterAll(async () => {
  await stage.close()
  await proxy.close()
  await database.drop()
  await redis.close()
})

/** A session whose model streams and one whose tool runs, until the gate opens. */
async function openInMidTurn(gate: string): Promise<readonly [streaming: Scene, running: Scene]> {
  const [streaming, running] = await Promise.all([stage.open(`story ${gate}`, doors), stage.open(`charge ${gate}`, doors)])
  await Promise.all([streaming.until('LLM_CHUNK'), running.until('TOOL_CALL_START')])
  return [streaming, running]
}

/** Their turns end as if nothing had been: by the worker that began them, and nothing was repeated. */
async function expectUndisturbed([streaming, running]: readonly [Scene, Scene], gate: string): Promise<void> {
  await stage.openGate(gate)
  expect(await streaming.result).toMatchObject({ status: 'completed', text: expect.stringMatching(/^word0 .* the end$/) })
  expect(await running.result).toMatchObject({ status: 'completed', text: 'done after step 1' })
  expect([(await streaming.head()).epoch, (await running.head()).epoch]).toEqual([1, 1])
  const ends = (await running.finish()).flatMap((event) => (event.type === 'TOOL_CALL_END' ? [event.data.status] : []))
  expect(ends).toEqual(['COMPLETED'])
  await streaming.finish()
}

/** A turn that was parked on a timer is gone on with when it is due, or a look later. */
async function expectWokenInTime(parked: Scene): Promise<void> {
  const { event } = await parked.until('STEP_RETRYING')
  const { event: resumed } = await parked.until('TURN_RESUMED')
  expect(Date.parse(resumed.at) - Date.parse(event.at)).toBeLessThan(PARKED_MS + LOOK_MS + allowanceMs)
  expect(await parked.result).toMatchObject({ status: 'completed', text: 'done after a wait' })
  await parked.finish()
}

/** A message starts its turn with the next look of a worker, and is told with the next look of a subscriber's process. */
async function expectFoundInDatabase(scene: Scene, text: string): Promise<void> {
  const { startedMs, toldMs } = await scene.exchange(text)
  expect(startedMs).toBeLessThan(LOOK_MS + allowanceMs)
  expect(toldMs).toBeLessThan(2 * LOOK_MS + SILENCE_MS + allowanceMs)
}

/** How often each process has said so. */
function told(what: RegExp): readonly number[] {
  return processes.map((process) => [...process.log().matchAll(what)].length)
}
const GONE = /Redis is not of use/g
const BACK = /Redis is of use again/g

test('emptied in mid-turn: nobody is fenced, a tool that runs three leases long is not abandoned, a timer is not forgotten', async () => {
  const parked = await stage.open('parked f', doors)
  const scenes = await openInMidTurn('f')
  await parked.until('TURN_WAITING')
  const leaseBefore = (await scenes[1].head()).leaseUntil?.getTime() ?? Infinity
  await redis.command('FLUSHALL')
  const next = await stage.open('hello', doors)
  expect(await next.result).toMatchObject({ status: 'completed' })
  await next.finish()
  const renewed = async () => ((await scenes[1].head()).leaseUntil?.getTime() ?? 0) - leaseBefore
  await expect.poll(renewed, { timeout: 30_000 }).toBeGreaterThan(1.5 * LEASE_TTL_MS)
  await redis.command('FLUSHALL')
  await expect.poll(renewed, { timeout: 30_000 }).toBeGreaterThan(3 * LEASE_TTL_MS)
  await expectUndisturbed(scenes, 'f')
  await expectWokenInTime(parked)
})

test('killed and started again in mid-turn: the turns go on, and the next message is heard of', async () => {
  const scenes = await openInMidTurn('k')
  const before = told(BACK)
  await redis.kill()
  await redis.start()
  await expect.poll(() => told(BACK), { timeout: 20_000 }).toEqual(before.map((count) => count + 1))
  const next = await stage.open('hello', doors)
  expect(await next.result).toMatchObject({ status: 'completed' })
  await next.finish()
  await expectUndisturbed(scenes, 'k')
})

test('gone for long: turns go on, new ones start, subscribers get everything; it is said once, and it is used again when it is back', async () => {
  const scenes = await openInMidTurn('g')
  const [parked, talk] = await Promise.all([stage.open('parked g', doors), stage.open('hello', doors)])
  await Promise.all([parked.until('TURN_WAITING'), talk.until('SESSION_WAITING')])
  const [gone, back] = [told(GONE), told(BACK)]
  await redis.kill()
  const since = Date.now()
  for (let count = 0; Date.now() - since < OUTAGE_MS; count += 1) await expectFoundInDatabase(talk, `message ${count}`)
  await expectWokenInTime(parked)
  expect(told(GONE)).toEqual(gone.map((count) => count + 1))
  expect(told(BACK)).toEqual(back)
  await redis.start()
  await expect.poll(() => told(BACK), { timeout: 20_000 }).toEqual(back.map((count) => count + 1))
  await expectUndisturbed(scenes, 'g')
  await expect.poll(() => meanStartMs(talk), { timeout: 20_000 }).toBeLessThan(LOOK_MS / 10)
  await talk.finish()
})

/** Without Redis the mean is half a look. */
async function meanStartMs(scene: Scene): Promise<number> {
  let sum = 0
  for (let count = 0; count < 5; count += 1) sum += (await scene.exchange(`fast ${count}`)).startedMs
  return sum / 5
}

interface Illness {
  readonly name: string
  readonly begin: () => unknown
  readonly end: () => unknown
}
const ILLNESSES: readonly Illness[] = [
  {
    name: 'out of memory',
    begin: () => redis.command('CONFIG', 'SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction'),
    end: () => redis.command('CONFIG', 'SET', 'maxmemory', '0'),
  },
  {
    name: 'read-only, as a replica is',
    begin: () => redis.command('REPLICAOF', '127.0.0.1', '1'),
    end: () => redis.command('REPLICAOF', 'NO', 'ONE'),
  },
  {
    name: 'slow: every answer takes four seconds',
    begin: () => proxy.delay(2000),
    end: () => proxy.delay(0),
  },
]

describe.each(ILLNESSES)('$name', ({ begin, end }) => {
  test('turns go on, new ones start, subscribers get everything; it is said once, and it is used again', async ({ onTestFinished }) => {
    onTestFinished(async () => {
      await end()
    })
    const gate = `ill-${performance.now()}`
    const scenes = await openInMidTurn(gate)
    const talk = await stage.open('hello', doors)
    await talk.until('SESSION_WAITING')
    const [gone, back] = [told(GONE), told(BACK)]
    await begin()
    await expect.poll(() => told(GONE), { timeout: 20_000 }).toEqual(gone.map((count) => count + 1))
    await expectFoundInDatabase(talk, 'one')
    await expectFoundInDatabase(talk, 'two')
    const fresh = await stage.open('fresh', doors)
    await fresh.until('TURN_COMPLETED')
    expect(told(GONE)).toEqual(gone.map((count) => count + 1))
    await end()
    await expect.poll(() => told(BACK), { timeout: 20_000 }).toEqual(back.map((count) => count + 1))
    await expectUndisturbed(scenes, gate)
    await talk.finish()
    await fresh.finish()
  })
})
