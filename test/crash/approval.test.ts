/**
 * A turn waits for a person; every process is killed, Redis is emptied, a day passes; then the answer is given through another process, and
 * what was asked runs once, as it was shown.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { RequestNotPendingError, type InputRequest } from '../../sdk/index.js'
import { createTestDatabase, type TestDatabase } from '../support/databases.js'
import { expectSound } from '../support/expect-sound.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import type { ServerProcess } from '../support/server-process.js'
import { readLog } from '../support/world.js'
import { Stage, type Doors, type Scene } from './stage.js'

const SHIFTED_CLOCK = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url))
const DAY_MS = 24 * 3600_000

let redis: RedisServer
let database: TestDatabase
let stage: Stage
let processes: readonly ServerProcess[]

beforeAll(async () => {
  ;[redis, database] = await Promise.all([startRedisServer(), createTestDatabase()])
  stage = await Stage.create({ databaseUrl: database.url, redis: { url: redis.url, prefix: 'approval' }, leaseTtlMs: 2000 })
})
afterAll(async () => {
  await stage.close()
  await database.drop()
  await redis.close()
})

async function startAll(clockShiftMs: number): Promise<Doors> {
  const env = { NODE_OPTIONS: `--import ${SHIFTED_CLOCK}`, TEST_CLOCK_SHIFT_MS: String(clockShiftMs) }
  processes = await Promise.all((['api', 'api', 'worker', 'worker'] as const).map((role) => stage.deployment.start({ role, env })))
  const [first, second] = processes
  if (first === undefined || second === undefined) throw new Error('two doors')
  return [first, second]
}

/** The database's clock cannot be set, so everything in it becomes so much older. */
async function age(ms: number): Promise<void> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query<{ readonly table: string; readonly sets: string }>(`
SELECT table_name AS table, string_agg(format('%I = %I - interval ''${ms} milliseconds''', column_name, column_name), ', ') AS sets
FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'timestamp with time zone' AND table_name NOT LIKE '\\_%' GROUP BY 1`)
  for (const { table, sets } of rows) await client.query(`UPDATE "${table}" SET ${sets}`)
  await client.end()
}

async function emptyRedis(): Promise<void> {
  const client = new Redis(redis.url)
  await client.flushall()
  client.disconnect()
}

async function openRequest(scene: Scene, door: ServerProcess): Promise<InputRequest> {
  const [request] = (await stage.deployment.client(door).session(scene.session.id).requests()).nodes
  if (request === undefined) throw new Error('the session asks nothing')
  return request
}

test('an approval and a question are answered on the next day, after everything was killed and Redis emptied', async () => {
  const before = await startAll(0)
  const [paying, asking] = await Promise.all([stage.open('guarded night', before), stage.open('ask night', before)])
  await Promise.all([paying.until('TURN_WAITING'), asking.until('TURN_WAITING')])
  await Promise.all(processes.map((one) => one.kill('SIGKILL')))
  await emptyRedis()
  await age(DAY_MS)
  const [door, other] = await startAll(DAY_MS)
  await stage.openGate('night')

  // Two people at once, through two processes: one is the first.
  const [here, elsewhere] = await Promise.all([openRequest(paying, door), openRequest(paying, other)])
  expect(here).toMatchObject({ kind: 'APPROVAL', status: 'PENDING', toolCall: { name: 'guarded', input: { gate: 'night', euros: 7 } } })
  const outcomes = await Promise.allSettled([here.approve('fine'), elsewhere.approve('mine too')])
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const refused = outcomes.find((outcome): outcome is PromiseRejectedResult => outcome.status === 'rejected')
  expect(refused?.reason).toBeInstanceOf(RequestNotPendingError)
  await expect(here.deny('after all')).rejects.toThrow(RequestNotPendingError)
  await (await openRequest(asking, other)).answer('No')

  const [paid, answered] = await Promise.all([untilOver(paying.id, door), untilOver(asking.id, other)])
  expect(paid.filter(({ type }) => type === 'TOOL_CALL_START')).toHaveLength(1)
  expect(await readFile(join(stage.deployment.folder, 'arguments.log'), 'utf8')).toBe('night 7\n')
  expect(paid.find(({ type }) => type === 'TOOL_CALL_END')).toMatchObject({ data: { status: 'COMPLETED', output: 'guarded done for 7' } })
  expect(answered.find(({ type }) => type === 'TOOL_CALL_END')).toMatchObject({ data: { output: { selected: ['No'] } } })
})

/** The log of a session whose turn has ended; it is sound. */
async function untilOver(id: Scene['id'], door: ServerProcess) {
  for await (const event of stage.deployment.client(door).session(id).events()) if (event.type === 'TURN_COMPLETED') break
  await stage.deployment.client(door).session(id).end()
  await expect.poll(async () => (await readLog(stage.database.store, id)).at(-1)?.type).toBe('SESSION_COMPLETED')
  return expectSound(stage.database.store, id)
}
