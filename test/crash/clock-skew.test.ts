/** Workers whose wall clocks are ten minutes apart from the database's, one each way: leases are judged by its clock and by no other. */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/databases.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import type { ServerProcess } from '../support/server-process.js'
import { PARKED_MS } from './agents.js'
import { Stage, type Doors, type Scene } from './stage.js'

const SHIFTED_CLOCK = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url))
const TEN_MINUTES_MS = 600_000
const LEASE_TTL_MS = 2000
const SWEEP_MS = 1000
/** For the claim, the commit and the way to a subscriber. */
const ALLOWANCE_MS = 1000

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

function startShifted(shiftMs: number): Promise<ServerProcess> {
  const env = { NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`, TEST_CLOCK_SHIFT_MS: String(shiftMs) }
  return stage.deployment.start({ role: 'worker', env })
}

/** Resolves when the database has extended the lease of the session for three of its lives. */
async function untilRenewed(scene: Scene): Promise<void> {
  const leaseUntil = async () => (await scene.head()).leaseUntil?.getTime() ?? 0
  const before = await leaseUntil()
  await expect.poll(leaseUntil, { timeout: 30_000 }).toBeGreaterThan(before + 3 * LEASE_TTL_MS)
}

test.each([
  { holder: 'ahead', shiftMs: TEN_MINUTES_MS },
  { holder: 'behind', shiftMs: -TEN_MINUTES_MS },
])('a worker ten minutes $holder keeps its lease while it lives, and not for longer', async ({ holder, shiftMs }) => {
  const [worker, other] = await Promise.all([startShifted(shiftMs), startShifted(-shiftMs)])
  other.freeze()
  const openedAt = Date.now()
  const [running, streaming, parked] = [
    await stage.open(`charge ${holder}`, doors),
    await stage.open(`story ${holder}`, doors),
    await stage.open(`parked ${holder}`, doors),
  ]
  await Promise.all([running.until('TOOL_CALL_START'), streaming.until('LLM_CHUNK'), parked.until('TURN_WAITING')])
  const parkedAt = Date.now()
  other.thaw()
  await untilRenewed(running)
  expect([(await running.head()).epoch, (await streaming.head()).epoch]).toEqual([1, 1])

  const tails = [(await running.head()).lastSeq, (await streaming.head()).lastSeq]
  const killedAt = Date.now()
  await worker.kill('SIGKILL')
  const ends = await Promise.all([
    running.until('TOOL_CALL_END', { after: tails[0] ?? 0 }),
    streaming.until('STEP_INTERRUPTED', { after: tails[1] ?? 0 }),
  ])
  for (const { at } of ends) expect(at - killedAt).toBeLessThan(LEASE_TTL_MS + SWEEP_MS + ALLOWANCE_MS)
  await stage.openGate(holder)
  expect(await running.result).toMatchObject({ status: 'completed', text: 'done after step 1' })
  expect(await streaming.result).toMatchObject({ status: 'completed' })
  await streaming.finish()
  const log = await running.finish()
  // What people read is the database's time, whoever wrote it.
  for (const event of log) expect(Math.abs(event.at - openedAt)).toBeLessThan(TEN_MINUTES_MS / 5)

  // A timer that one of them set is due when the time has passed, whoever looks.
  const { at } = await parked.until('TURN_RESUMED')
  expect(at - parkedAt).toBeGreaterThan(PARKED_MS - ALLOWANCE_MS)
  expect(at - parkedAt).toBeLessThan(PARKED_MS + SWEEP_MS + ALLOWANCE_MS)
  expect(await parked.result).toMatchObject({ status: 'completed', text: 'done after a wait' })
  await parked.finish()
  await other.kill('SIGKILL')
})
