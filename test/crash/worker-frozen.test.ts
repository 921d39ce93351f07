/** A process stopped with SIGSTOP for longer than its leases live, and woken when another one has taken what it was driving. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/databases.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import type { ServerProcess } from '../support/server-process.js'
import { Stage } from './stage.js'

let redis: RedisServer
let database: TestDatabase
let stage: Stage

beforeAll(async () => {
  ;[redis, database] = await Promise.all([startRedisServer(), createTestDatabase()])
  stage = await Stage.create({ databaseUrl: database.url, redis: { url: redis.url, prefix: 'crash' }, leaseTtlMs: 3000 })
})
afterAll(async () => {
  await stage.close()
  await database.drop()
  await redis.close()
})

/** Sessions that the process drives, as it says itself. */
async function activeSessions({ url }: ServerProcess): Promise<number> {
  const text = await (await fetch(new URL('/metrics', url))).text()
  return Number(/^perdure_active_sessions\S* (\S+)$/m.exec(text)?.[1])
}

function leaseOf({ epoch, owner }: { readonly epoch: number; readonly owner: string | null }) {
  return { epoch, owner }
}

test('frozen past its leases and woken: it changes nothing, and subscribers through it see what the other one did, once (R2)', async () => {
  const { deployment } = stage
  // The sleeper also serves one of the two subscribers of each session.
  const roles = ['all', 'api', 'worker'] as const
  const [sleeper, api, other] = await Promise.all(roles.map((role) => deployment.start({ role })))
  if (sleeper === undefined || api === undefined || other === undefined) throw new Error('three processes')
  other.freeze()
  const scenes = await Promise.all(['story b', 'charge a', 'look a'].map((text) => stage.open(text, [sleeper, api])))
  const [streaming, running, repeatable] = scenes
  if (streaming === undefined || running === undefined || repeatable === undefined) throw new Error('three scenes')
  await streaming.until('LLM_CHUNK')
  await running.until('TOOL_CALL_START')
  await expect.poll(async () => (await stage.startedCalls()).length, { timeout: 60_000 }).toBe(2)

  expect(await activeSessions(sleeper)).toBe(scenes.length)
  const ownersOf = () => Promise.all(scenes.map(async (scene) => (await scene.head()).owner))
  const before = await ownersOf()
  sleeper.freeze()
  other.thaw()
  await expect.poll(async () => (await ownersOf()).map((owner, index) => owner === before[index]), { timeout: 60_000 }).not.toContain(true)
  // The tools of the sleeper find their gate open when it wakes, and have results to commit; its model has more to say.
  await stage.openGate('a')
  await Promise.all([running, repeatable].map((scene) => scene.witnesses[1].until('TURN_COMPLETED')))
  const heads = await Promise.all([running, repeatable].map((scene) => scene.head()))
  const lease = leaseOf(await streaming.head())

  sleeper.thaw()
  // By then each of its drives has ended, with whatever it had in hand.
  await expect.poll(() => activeSessions(sleeper), { timeout: 60_000 }).toBe(0)
  expect(await Promise.all([running, repeatable].map((scene) => scene.head()))).toEqual(heads)
  expect(leaseOf(await streaming.head())).toEqual(lease)
  await stage.openGate('b')
  for (const scene of scenes) expect(await scene.result).toMatchObject({ status: 'completed' })

  const ends = (await running.finish()).flatMap((event) => (event.type === 'TOOL_CALL_END' ? [event.data.status] : []))
  expect(ends).toEqual(['ABANDONED'])
  const log = await streaming.finish()
  expect(log.map(({ type }) => type)).toContain('STEP_INTERRUPTED')
  expect(log.filter((event) => event.type === 'MESSAGE_COMPLETED')).toHaveLength(1)
  await repeatable.finish()
  const looks = (await stage.startedCalls()).filter(({ name }) => name === 'look')
  expect(looks.map(({ pid }) => pid === sleeper.pid)).toEqual([true, ...looks.slice(1).map(() => false)])
  expect(looks.length).toBeGreaterThan(1)
})
