/** Findings of a review: each fails until it is mended. */
import { createServer, connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { defineAgent } from '../../server/agents/define-agent.js'
import { systemClock } from '../../server/clock.js'
import { scripted } from '../../server/models/scripted.js'
import { openStore } from '../../server/store/open.js'
import { interpose } from '../session/interposed-store.js'
import { toolOf } from '../session/scripted-worlds.js'
import { afterTurns, createGate, createWorlds } from '../session/worlds.js'
import { createLocalCoordinator } from '../../server/coordination/local.js'
import { createEventWriter } from '../../server/events/writer.js'
import { createIdSource } from '../../server/ids.js'
import { createRegistry } from '../../server/agents/registry.js'
import { createIntake } from '../../server/session/intake.js'
import type { Log } from '../../server/session/ports.js'
import { startWorkerPool } from '../../server/worker/pool.js'
import { ALICE, readLog } from '../support/world.js'
import { createTestDatabase, MIGRATIONS } from '../support/databases.js'

test('a session whose lease could not be given back after a fault goes on in the same process', async () => {
  const agent = defineAgent({ name: 'support', model: scripted(() => 'Hello.'), instructions: 'x' })
  const worlds = createWorlds([agent])
  let full = true
  const store = interpose(worlds.store, {
    async commit(...args) {
      if (full) throw new Error('could not extend file: No space left on device')
      return worlds.store.commit(...args)
    },
    async release(leases) {
      if (full) throw new Error('could not extend file: No space left on device')
      return worlds.store.release(leases)
    },
  })
  const world = worlds.start({ store })
  const id = await world.open('support', 'one')
  await new Promise((resolve) => setTimeout(resolve, 6000))
  full = false
  const log = await Promise.race([
    world.until(id, afterTurns(1)),
    new Promise<string>((resolve) => setTimeout(() => resolve('stuck: 12 s after the disk has room again'), 12_000)),
  ])
  expect(log).not.toBeTypeOf('string')
}, 30_000)

test('a connection that falls silent costs a retry, not the lease and the tool that had finished', async () => {
  const { url, drop } = await createTestDatabase()
  const sockets: { a: Socket; b: Socket; dead: boolean }[] = []
  const proxy = createServer((a) => {
    const b = connect(5432, '127.0.0.1')
    const pair = { a, b, dead: false }
    sockets.push(pair)
    a.on('data', (d) => pair.dead || b.write(d))
    b.on('data', (d) => pair.dead || a.write(d))
    for (const s of [a, b]) s.on('error', () => undefined).on('close', () => (a.destroy(), b.destroy()))
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const through = new URL(url)
  through.port = String((proxy.address() as { port: number }).port)
  const opened = await openStore({ databaseUrl: through.href, dataDir: '', migrationsDir: MIGRATIONS, clock: systemClock })
  const running = createGate()
  const goOn = createGate()
  let runs = 0
  const agent = defineAgent({
    name: 'support',
    model: scripted(({ step }) => (step === 0 ? { calls: [{ name: 'pay' }] } : 'Paid.')),
    instructions: 'x',
    tools: {
      pay: toolOf(async () => {
        runs += 1
        running.open()
        await goOn.opened
        return 'paid'
      }),
    },
  })
  const direct = await openStore({ databaseUrl: url, dataDir: '', migrationsDir: MIGRATIONS, clock: systemClock })
  const { store } = opened
  const coordinator = createLocalCoordinator({ clock: systemClock })
  const warnings: string[] = []
  const log: Log = {
    debug: () => undefined,
    info: () => undefined,
    warn: (message) => warnings.push(message),
    error: (message) => warnings.push(message),
    with: () => log,
  }
  const ids = createIdSource()
  const registry = createRegistry([agent], (spec) => {
    if (typeof spec === 'string') throw new Error('no')
    return spec
  })
  const ttlMs = 10_000 // the default
  const pool = startWorkerPool({
    store,
    coordinator,
    writer: createEventWriter({ store, coordinator, clock: systemClock, ttlMs, log }),
    agents: registry,
    clock: systemClock,
    ids,
    random: () => 0,
    log,
    slots: 4,
    leaseTtlMs: ttlMs,
    renewsLeases: true,
    sweepIntervalMs: 1000,
    onTurnEnded: () => undefined,
  })
  const intake = createIntake({ store, coordinator, clock: systemClock, ids, deployment: 'test' })
  const spec = { agent: 'support', title: null, metadata: {}, addresses: [], history: [] }
  const sent = await intake.deliver(ALICE, { kind: 'create', spec }, { kind: 'MESSAGE', text: 'pay', policy: 'STEER' }, null)
  if (sent.kind !== 'accepted') throw new Error(sent.kind)
  await running.opened
  await new Promise((resolve) => setTimeout(resolve, 200))
  await Promise.all(Array.from({ length: 10 }, () => opened.prisma.$queryRaw`SELECT pg_sleep(0.2)::text`)) // all of the pool's connections are in use now and then
  for (const pair of sockets) pair.dead = true // a firewall forgets the idle connections; new ones work at once
  const before = performance.now()
  goOn.open()
  let events = await readLog(direct.store, sent.sessionId)
  while (!events.some(({ type }) => type === 'TURN_COMPLETED') && performance.now() - before < 80_000) {
    await new Promise((resolve) => setTimeout(resolve, 250))
    events = await readLog(direct.store, sent.sessionId)
  }
  const tookMs = Math.round(performance.now() - before)
  const end = events.find((event) => event.type === 'TOOL_CALL_END')
  await pool.stop(100)
  await direct.close()
  proxy.close()
  for (const { a, b } of sockets) (a.destroy(), b.destroy())
  await opened.close()
  await drop()
  expect({ runs, tookMs, warnings, end: end?.data }).toMatchObject({ runs: 1, end: { status: 'COMPLETED' } })
}, 120_000)
