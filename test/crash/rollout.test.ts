/** Processes with one role each, and a worker that is told to stop while another one runs: what a rolling restart does all day. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/databases.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import { Stage, type Doors, type Scene } from './stage.js'

/** So long that nothing here can be explained by a lease that ran out. */
const LEASE_TTL_MS = 60_000
const TURNS = 20

let redis: RedisServer
let database: TestDatabase
let stage: Stage
let doors: Doors

beforeAll(async () => {
  ;[redis, database] = await Promise.all([startRedisServer(), createTestDatabase()])
  stage = await Stage.create({ databaseUrl: database.url, redis: { url: redis.url, prefix: 'crash' }, leaseTtlMs: LEASE_TTL_MS })
  doors = await stage.deployment.startTwo('api')
})
afterAll(async () => {
  await stage.close()
  await database.drop()
  await redis.close()
})

/** How often the open turn lost its worker, as the checkpoint counts. */
async function takeovers(scene: Scene): Promise<unknown> {
  const { body } = await stage.database.prisma.checkpoint.findUniqueOrThrow({ where: { sessionId: scene.id } })
  return JSON.parse(JSON.stringify(body)).phase.turn.takeovers
}

test('api processes drive nothing and show everything: a message waits for a worker, and two of them stream what it does', async () => {
  const [first, second] = doors
  const scene = await stage.open('hello', doors)
  const before = await scene.head()
  expect(before).toMatchObject({ epoch: 0, owner: null })
  const worker = await stage.deployment.start({ role: 'worker' })
  expect(await scene.result).toMatchObject({ status: 'completed', text: 'you said: hello' })
  // Sent through one, seen through the other.
  const elsewhere = scene.sameElsewhere.send('and through the other one').result()
  expect(await elsewhere).toMatchObject({ status: 'completed', number: 2 })
  expect(await scene.session.transcript()).toHaveLength(4)
  await scene.finish()
  const drivers = [...(await stage.drivers('hello')), ...(await stage.drivers('and through the other one'))]
  expect(drivers).toEqual([worker.pid, worker.pid])
  expect(drivers).not.toContain(first.pid)
  expect(drivers).not.toContain(second.pid)
  await worker.kill('SIGTERM')
})

test('a worker that is told to stop hands 20 running turns over: another one goes on at once, and no worker was lost', async () => {
  const env = { PERDURE_SLOTS: String(TURNS + 2) }
  const leaving = await stage.deployment.start({ role: 'worker', env })
  const texts = Array.from({ length: TURNS }, (_, index) => `story drain ${index}`)
  const scenes = await Promise.all(texts.map((text) => stage.open(text, doors)))
  await Promise.all(scenes.map((scene) => scene.until('LLM_CHUNK')))
  const staying = await stage.deployment.start({ role: 'worker', env })
  const toldAt = Date.now()
  const exit = leaving.kill('SIGTERM')
  const resumed = await Promise.all(scenes.map((scene) => scene.until((event) => event.type === 'STEP_STARTED' && event.attempt === 2)))
  const waits = resumed.map(({ at }) => at - toldAt)
  expect(Math.max(...waits)).toBeLessThan(LEASE_TTL_MS / 10)
  expect(await exit).toBe(0)
  expect(await Promise.all(scenes.map(takeovers))).toEqual(scenes.map(() => 0))
  await stage.openGate('drain')
  for (const [index, scene] of scenes.entries()) {
    expect(await scene.result).toMatchObject({ status: 'completed', text: expect.stringMatching(/the end$/) })
    expect(await stage.drivers(texts[index] ?? '')).toEqual([leaving.pid, staying.pid])
    const log = await scene.finish()
    expect(log.filter((event) => event.type === 'MESSAGE_COMPLETED')).toHaveLength(1)
  }
})
