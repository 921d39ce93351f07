/** Two workers that are told of the same session at the same time, again and again. They share a database and nothing else. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineAgent, scripted } from '../../server/index.js'
import { systemClock } from '../../server/clock.js'
import type { SessionStore } from '../../server/session/ports.js'
import { openStore, type OpenStore } from '../../server/store/open.js'
import { MIGRATIONS, createTestDatabase, type TestDatabase } from '../support/databases.js'
import { expectSound } from '../support/expect-sound.js'
import { startWorld, type World } from '../support/world.js'

const CLAIMS = 1000
const LEASE_TTL_MS = 60_000

/** Who holds the session, as the answers of the store tell, and how often it was asked for. */
class Holders {
  readonly now = new Set<string>()
  claims = 0
  most = 0

  /** From the answer to a claim to the sending of the commit that parks: in between nobody else may be given it. */
  watch(name: string, store: SessionStore): SessionStore {
    return {
      ...store,
      claim: async (sessionId, options) => {
        this.claims += 1
        const claimed = await store.claim(sessionId, options)
        if (claimed === 'not-due') return claimed
        this.now.add(name)
        this.most = Math.max(this.most, this.now.size)
        return claimed
      },
      commit: (session, commit, ttlMs) => {
        if (commit.park !== null) this.now.delete(name)
        return store.commit(session, commit, ttlMs)
      },
    }
  }
}

const agent = defineAgent({ name: 'echo', instructions: '', model: scripted() })

let database: TestDatabase
let opened: readonly OpenStore[]
let worlds: readonly World[]
const holders = new Holders()

beforeAll(async () => {
  database = await createTestDatabase()
  const open = (): Promise<OpenStore> =>
    openStore({ databaseUrl: database.url, dataDir: '', migrationsDir: MIGRATIONS, clock: systemClock, poolSize: 4 })
  opened = [await open(), await open()]
  worlds = opened.map(({ store }, index) =>
    startWorld({ store: holders.watch(`worker ${index}`, store), agents: [agent], leaseTtlMs: LEASE_TTL_MS, sweepIntervalMs: 1000 }),
  )
})
afterAll(async () => {
  await Promise.all(worlds.map((world) => world.stop()))
  await Promise.all(opened.map((store) => store.close()))
  await database.drop()
})

test('asked for 1,000 times by two workers at once, a session has one driver at any moment, and each message is taken once', async () => {
  const [one, other] = worlds
  const [first] = opened
  if (one === undefined || other === undefined || first === undefined) throw new Error('two workers')
  const id = await one.open('echo', 'message 0')
  const sent = ['message 0']
  for (let count = 1; holders.claims < CLAIMS; count += 1) {
    sent.push(`message ${count}`)
    const [teller, listener] = count % 2 === 0 ? [one, other] : [other, one]
    await teller.send(id, `message ${count}`)
    listener.coordinator.wake(id)
  }
  const waiting = (): Promise<number> => first.prisma.delivery.count({ where: { sessionId: id, status: 'ACCEPTED' } })
  await expect.poll(waiting, { timeout: 30_000 }).toBe(0)
  await other.end(id)
  await expect
    .poll(async () => (await first.prisma.session.findUniqueOrThrow({ where: { id } })).endedAt, { timeout: 30_000 })
    .not.toBeNull()
  expect(holders.most).toBe(1)
  const log = await expectSound(first.store, id)
  expect(log.flatMap((event) => (event.type === 'MESSAGE_RECEIVED' ? [event.data.text] : []))).toEqual(sent)
})
