/** A worker killed with SIGKILL in each phase of a turn, and another one that goes on. All phases at once: one death, many sessions. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/databases.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import type { ServerProcess } from '../support/server-process.js'
import type { Sighting } from '../support/witness.js'
import { LIMITED_MS, PARKED_MS } from './agents.js'
import { Stage, type Doors, type Scene } from './stage.js'

const LEASE_TTL_MS = 2000
/** Between two looks for due sessions, of each worker. */
const SWEEP_MS = 1000

let redis: RedisServer
let database: TestDatabase
let stage: Stage
let doomed: ServerProcess
let killedAt: number
/**
 * For the claim, the commit, and the way of the event through another process to a subscriber, while two cores do all of it for seven
 * sessions at once. What a whole turn takes on this machine now is added to it.
 */
let allowanceMs = 500
let scenes: Record<'streaming' | 'running' | 'repeatable' | 'between' | 'waiting' | 'parked' | 'idle', Scene>

beforeAll(async () => {
  ;[redis, database] = await Promise.all([startRedisServer(), createTestDatabase()])
  stage = await Stage.create({ databaseUrl: database.url, redis: { url: redis.url, prefix: 'crash' }, leaseTtlMs: LEASE_TTL_MS })
  const { deployment } = stage
  const [doors, [worker, other]] = await Promise.all([deployment.startTwo('api'), deployment.startTwo('worker')])
  doomed = worker
  // Frozen until it is needed, so that all sessions are the doomed one's.
  other.freeze()
  scenes = await openPhases(doors)
  const sentAt = Date.now()
  await scenes.idle.session.send('and now').result()
  allowanceMs += Date.now() - sentAt
  other.thaw()
  killedAt = Date.now()
  await doomed.kill('SIGKILL')
  await Promise.all(['t', 'i', 'b', 's'].map((gate) => stage.openGate(gate)))
})
afterAll(async () => {
  await stage.close()
  await database.drop()
  await redis.close()
})

/** Each session in its phase. */
async function openPhases(doors: Doors): Promise<typeof scenes> {
  const idle = await stage.open('hello', doors)
  const running = await stage.open('charge t', doors)
  const repeatable = await stage.open('look i', doors)
  const between = await stage.open('both b', doors)
  const streaming = await stage.open('story s', doors)
  const parked = await stage.open('parked p', doors)
  const waiting = await stage.open('limited w', doors)
  await Promise.all([
    idle.until('SESSION_WAITING'),
    running.until('TOOL_CALL_START'),
    repeatable.until('TOOL_CALL_START'),
    between.until('TOOL_CALL_END'),
    streaming.until('LLM_CHUNK'),
    parked.until('TURN_WAITING'),
    waiting.until('STEP_RETRYING'),
  ])
  return { streaming, running, repeatable, between, waiting, parked, idle }
}

/** What another worker did first, as the later of the two subscribers saw it. */
function takeover(scene: Scene): Promise<Sighting> {
  return scene.until((event) => Date.parse(event.at) > killedAt)
}

/** A lease lives on after its worker for as long as it was given at most; then the next look finds the session. */
async function expectTakeoverInTime(scene: Scene): Promise<void> {
  const { at } = await takeover(scene)
  expect(at - killedAt).toBeLessThan(LEASE_TTL_MS + SWEEP_MS + allowanceMs)
}

describe('a worker killed with SIGKILL, another one goes on', () => {
  test('while the model streams: within the lease’s life and a second, and the answer is made again, whole', async () => {
    const { streaming } = scenes
    await expectTakeoverInTime(streaming)
    expect(await streaming.result).toMatchObject({ status: 'completed', number: 1, text: expect.stringMatching(/the end$/) })
    const log = await streaming.finish()
    expect(log.flatMap((event) => (event.type === 'STEP_INTERRUPTED' ? [event.data.reason] : []))).toEqual(['WORKER_LOST'])
    expect(log.filter((event) => event.type === 'MESSAGE_COMPLETED')).toHaveLength(1)
  })

  test('while a tool runs: within the lease’s life and a second, the call is not run again, and the model is told (R3)', async () => {
    const { running } = scenes
    await expectTakeoverInTime(running)
    expect(await running.result).toMatchObject({ status: 'completed', text: 'done after step 1' })
    const log = await running.finish()
    expect(log.find((event) => event.type === 'TOOL_CALL_END')?.data).toMatchObject({ status: 'ABANDONED' })
  })

  test('while an idempotent tool runs: within the lease’s life and a second, and it runs again under the same call id', async () => {
    const { repeatable } = scenes
    await expectTakeoverInTime(repeatable)
    expect(await repeatable.result).toMatchObject({ status: 'completed', text: 'done after step 1' })
    const log = await repeatable.finish()
    expect(log.find((event) => event.type === 'TOOL_CALL_END')?.data).toMatchObject({ status: 'COMPLETED', output: 'look done' })
    const looks = (await stage.startedCalls()).filter(({ name }) => name === 'look')
    expect(looks.map(({ pid }) => pid === doomed.pid)).toEqual([true, false])
    expect(new Set(looks.map(({ callId }) => callId)).size).toBe(1)
  })

  test('between two tool results: within the lease’s life and a second, and the one that is there is kept', async () => {
    const { between } = scenes
    await expectTakeoverInTime(between)
    expect(await between.result).toMatchObject({ status: 'completed', text: 'done after step 1' })
    const log = await between.finish()
    const ends = log.flatMap((event) => (event.type === 'TOOL_CALL_END' ? [[event.data.name, event.data.status]] : []))
    expect(ends).toEqual([
      ['quick', 'COMPLETED'],
      ['charge', 'ABANDONED'],
    ])
  })

  test('during a back-off that keeps the slot: the call is made in time by another, and nothing was interrupted', async () => {
    const { waiting } = scenes
    const { event: refused } = await waiting.until('STEP_RETRYING')
    const { event, at } = await waiting.until((event) => event.type === 'STEP_STARTED' && event.attempt === 2)
    const dueAt = Math.max(Date.parse(refused.at) + LIMITED_MS, killedAt + LEASE_TTL_MS + SWEEP_MS)
    expect(at - dueAt).toBeLessThan(allowanceMs)
    expect(Date.parse(event.at)).toBeGreaterThan(killedAt)
    expect(await waiting.result).toMatchObject({ status: 'completed', text: 'done after a wait' })
    const log = await waiting.finish()
    expect(log.filter((event) => event.type === 'STEP_INTERRUPTED')).toEqual([])
    expect((await stage.drivers(waiting.text)).map((pid) => pid === doomed.pid)).toEqual([true, false])
  })

  test('while a turn is parked on a timer: it is woken in time all the same', async () => {
    const { parked } = scenes
    const { event: refused } = await parked.until('STEP_RETRYING')
    const { at } = await parked.until('TURN_RESUMED')
    expect(at - Date.parse(refused.at)).toBeLessThan(PARKED_MS + SWEEP_MS + allowanceMs)
    expect(await parked.result).toMatchObject({ status: 'completed', text: 'done after a wait' })
    await parked.finish()
    expect((await stage.drivers(parked.text)).map((pid) => pid === doomed.pid)).toEqual([true, false])
  })

  test('while a session is idle: its next message is answered without a wait for any lease', async () => {
    const { idle } = scenes
    const sentAt = Date.now()
    expect(await idle.sameElsewhere.send('third').result()).toMatchObject({ status: 'completed', number: 3, text: 'you said: third' })
    expect(Date.now() - sentAt).toBeLessThan(SWEEP_MS + allowanceMs)
    expect(await idle.session.transcript()).toMatchObject(
      ['hello', 'and now', 'third'].flatMap((text) => [
        { role: 'USER', text },
        { role: 'ASSISTANT', text: `you said: ${text}` },
      ]),
    )
    await idle.finish()
  })
})
