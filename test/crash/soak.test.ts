/**
 * Many sessions, some of them followed, on three workers that are killed, stopped and frozen in turn while Redis is emptied and killed: every
 * turn ends, every log and history is sound, and nothing is left over. A minute of it; `TEST_SOAK_MS=180000 npm test -- test/crash/soak`
 * makes it three.
 */
import { setMaxListeners } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TurnResult } from '../../sdk/index.js'
import { storedId } from '../../server/ids.js'
import { createTestDatabase, type TestDatabase } from '../support/databases.js'
import { expectSound } from '../support/expect-sound.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import type { ServerProcess } from '../support/server-process.js'
import { pause, wreakHavoc } from './chaos.js'
import { Stage, type Scene } from './stage.js'

const SOAK_MS = Number(process.env['TEST_SOAK_MS'] ?? '60000')
const SESSIONS = 200
const FOLLOWED = 20
const TURNS = 20
const LEASE_TTL_MS = 2000
const PACE_MS = 3000
/** After the last mishap: a lease, a sweep, and what is queued by then. */
const SETTLE_MS = 60_000
/** Connections to PostgreSQL of one process. */
const POOL_SIZE = 10
/** What an api process may keep of all that it served: compiled documents and machine code, bytes. */
const KEPT_BYTES = 16 * 1024 * 1024

let redis: RedisServer
let database: TestDatabase
let stage: Stage
let apis: readonly [ServerProcess, ServerProcess]
let workers: readonly ServerProcess[]

beforeAll(async () => {
  ;[redis, database] = await Promise.all([startRedisServer(), createTestDatabase()])
  stage = await Stage.create({ databaseUrl: database.url, redis: { url: redis.url, prefix: 'soak' }, leaseTtlMs: LEASE_TTL_MS })
  await stage.openGate('soak')
  const { deployment } = stage
  apis = await deployment.startTwo('api')
  workers = [...(await deployment.startTwo('worker')), await deployment.start({ role: 'worker' })]
}, 120_000)
afterAll(async () => {
  await stage.close()
  await database.drop()
  await redis.close()
})

/** Every other turn runs a tool. */
function textOf(turn: number): string {
  return turn % 2 === 0 ? 'charge soak' : `message ${turn}`
}

/** The turns of one session, one after the other, spread over the soak; answers how they ended. */
async function converse(scene: Pick<Scene, 'session' | 'result'>, deadline: AbortSignal): Promise<readonly TurnResult[]> {
  const results = [await scene.result]
  for (let turn = 1; turn < TURNS; turn += 1) {
    await pause((SOAK_MS / TURNS) * (0.5 + Math.random() / 2))
    results.push(await resultOf(scene, turn, deadline))
  }
  return results
}

/** Says of a turn that does not end where its session is. */
async function resultOf({ session }: Pick<Scene, 'session'>, turn: number, deadline: AbortSignal): Promise<TurnResult> {
  try {
    return await session.send(textOf(turn)).result({ signal: deadline })
  } catch (thrown) {
    const where = { sessionId: storedId('ses', session.id) }
    const head = await stage.database.prisma.sessionHead.findUnique({ where })
    const events = await stage.database.prisma.event.findMany({ where, orderBy: { position: 'desc' }, take: 6 })
    const told = events.map(({ position, type, at }) => `${position} ${type} ${at.toISOString()}`)
    const text = JSON.stringify({ now: new Date(), head, told }, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))
    throw new Error(`turn ${turn + 1} of ${session.id} did not end: ${text}`, { cause: thrown })
  }
}

async function openUnfollowed(index: number, deadline: AbortSignal): Promise<Pick<Scene, 'session' | 'result'>> {
  const turn = stage.deployment
    .client(apis[index % 2 === 0 ? 0 : 1])
    .agent('crash')
    .send(textOf(0))
  const { session } = await turn.accepted
  return { session, result: turn.result({ signal: deadline }) }
}

function bytesOf(processes: readonly ServerProcess[]): Promise<readonly number[]> {
  return Promise.all(processes.map(bytesInUse))
}

/** What the process keeps, once its garbage is collected. */
async function bytesInUse({ url, pid }: ServerProcess): Promise<number> {
  process.kill(pid, 'SIGUSR2')
  const text = await (await fetch(new URL('/metrics', url))).text()
  const figure = (name: string): number => Number(new RegExp(`^${name}\\S* (\\S+)$`, 'm').exec(text)?.[1])
  return figure('nodejs_heap_size_used_bytes') + figure('nodejs_external_memory_bytes')
}

test(
  `${SESSIONS} sessions outlast kills, freezes and flushes, and leave nothing behind`,
  { timeout: SOAK_MS + SETTLE_MS + 120_000 },
  async () => {
    const havoc = new AbortController()
    const deadline = AbortSignal.timeout(SOAK_MS + SETTLE_MS + 60_000)
    setMaxListeners(0, deadline, havoc.signal)
    const before = await bytesOf(apis)
    const mishaps = wreakHavoc({ stage, redis, workers, paceMs: PACE_MS, leaseTtlMs: LEASE_TTL_MS, signal: havoc.signal })
    const followed = await Promise.all(Array.from({ length: FOLLOWED }, () => stage.open(textOf(0), apis)))
    const others = await Promise.all(Array.from({ length: SESSIONS - FOLLOWED }, (_, index) => openUnfollowed(index, deadline)))
    const talks = [...followed, ...others].map((scene) => converse(scene, deadline))
    await pause(SOAK_MS)
    havoc.abort()
    const { done, running } = await mishaps
    expect(new Set(done).size, done.join(', ')).toBe(5)

    const results = (await Promise.all(talks)).flat()
    const unfinished = results.filter(({ status }) => status !== 'completed')
    expect(unfinished).toEqual([])
    expect(results).toHaveLength(SESSIONS * TURNS)

    for (const scene of followed) await scene.finish()
    for (const { session } of others) {
      await session.end()
      await expectSound(stage.database.store, storedId('ses', session.id))
    }
    await expectNothingLeft([...apis, ...running], before)
  },
)

/** Connections, channels, keys and memory are those of processes at rest. */
async function expectNothingLeft(processes: readonly ServerProcess[], before: readonly number[]): Promise<void> {
  const rows = await stage.database.prisma.$queryRaw<{ count: bigint }[]>`
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'perdure'`
  // One more pool: the test's own.
  expect(Number(rows[0]?.count)).toBeLessThanOrEqual(POOL_SIZE * (processes.length + 1))
  const clients = String(await redis.command('CLIENT', 'LIST'))
    .split('\n')
    .filter((line) => line !== '')
  // Beside the one that asks.
  expect(clients.length - 1).toBe(2 * processes.length)
  await expect.poll(async () => (await listOf('PUBSUB', 'CHANNELS', 'soak:*')).length, { timeout: 5000 }).toBe(processes.length + 1)
  expect(await redis.command('ZCARD', '{soak}:due')).toBe(0)
  expect(await redis.command('SCARD', '{soak}:woken')).toBe(0)
  await expect.poll(async () => redis.command('ZCARD', '{soak}:held'), { timeout: 5000 }).toBe(0)
  // Connections that nobody uses are closed after some seconds.
  await expect
    .poll(async () => Math.max(...(await bytesOf(apis)).map((bytes, index) => bytes - (before[index] ?? 0))), {
      timeout: 15_000,
      interval: 1000,
    })
    .toBeLessThan(KEPT_BYTES)
}

async function listOf(...command: readonly [string, ...string[]]): Promise<readonly unknown[]> {
  const [name, ...args] = command
  const reply = await redis.command(name, ...args)
  return Array.isArray(reply) ? reply : []
}
