import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import { createRedisCoordinator } from '../../server/coordination/redis.js'
import { createIdSource } from '../../server/ids.js'
import { NO_METER } from '../../server/session/meter.js'
import type { ProcessPresence } from '../../server/session/ports.js'
import { openTestPostgres } from '../support/databases.js'
import { TEST_REDIS_URL, removeKeys, uniquePrefix } from '../support/redis.js'
import { silentLog } from '../support/silent-log.js'
import { message, newSession } from '../support/store-fixtures.js'
import { AGENTS, execute, visit, visitText, withAgents } from './doctor-visit.js'

const ids = createIdSource()
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

let postgres: Awaited<ReturnType<typeof openTestPostgres>>
beforeAll(async () => {
  postgres = await openTestPostgres()
})
afterAll(() => postgres.close())

/** A deployment with these processes, as they tell of themselves. */
async function deploy(...processes: readonly Partial<ProcessPresence>[]): Promise<Readonly<Record<string, string>>> {
  const prefix = uniquePrefix()
  closers.push(() => removeKeys(prefix))
  for (const process of processes) {
    const self = { id: ids.next('wrk'), role: 'all', deployment: 'local', host: 'here', pid: 1, startedAt: clock.now(), slots: 16 } as const
    const coordinator = await createRedisCoordinator({
      ...{ url: TEST_REDIS_URL, prefix, clock, log: silentLog(), meter: NO_METER, leaseTtlMs: 10_000 },
      self: { ...self, ...process },
    })
    closers.push(() => coordinator.close())
  }
  return { DATABASE_URL: postgres.url, REDIS_URL: TEST_REDIS_URL, PERDURE_REDIS_PREFIX: prefix }
}

describe('a deployment that works', () => {
  test('has nothing to mend: 0, with a line for everything that was looked at', async () => {
    const env = await deploy({ role: 'api', slots: 0 }, { role: 'worker' }, { role: 'worker', slots: 8 })
    const { code, complaints, checks, find } = await withAgents(AGENTS, (path) => visit(env, path))
    expect(complaints).toEqual([])
    expect(code).toBe(0)
    const names = [
      'Configuration',
      'Agents',
      'Database',
      'Migrations',
      'Durability',
      'Connections',
      'Clock',
      'Redis',
      'Processes',
      'Sessions',
    ]
    expect(checks.map(({ name }) => name)).toEqual(names)
    expect(find('Agents')?.detail).toMatch(/^clerk /)
    expect(find('Database')?.detail).toMatch(/^PostgreSQL \d+\.\d+, answers in \d+\.\d ms /)
    expect(find('Redis')?.detail).toMatch(/^(redis|valkey) \d+\.\d+\.\d+, answers in \d+\.\d ms, \d+\.\d MB/)
    expect(find('Processes')?.detail).toBe('1 api, 2 worker; 24 slots, deployment local')
  })

  test('is told in aligned lines, without a password', async () => {
    const env = await deploy({})
    const url = new URL(postgres.url)
    url.password = 'sesame'
    const text = await withAgents(AGENTS, (path) => visitText({ ...env, DATABASE_URL: url.href }, path))
    expect(text).toMatch(/^ perdure 1\.2\.3 {2}doctor {3}node 20\.19\.0\n\n/)
    for (const line of text.trimEnd().split('\n').slice(2, -2)) expect(line).toMatch(/^ {3}✓ [A-Z][a-z]+ +\S/)
    expect(text).toMatch(/\n\n Everything is fine\.\n$/)
    expect(text).toContain('postgres:***@')
    expect(text).not.toContain('sesame')
  })
})

describe('processes', () => {
  test('that are not there are a warning', async () => {
    expect((await visit(await deploy())).find('Processes')).toMatchObject({ status: 'warning', mend: 'perdure start' })
  })

  test('of which none drives sessions are broken', async () => {
    const { code, find } = await visit(await deploy({ role: 'api', slots: 0 }))
    expect(code).toBe(1)
    expect(find('Processes')).toMatchObject({ status: 'broken', detail: '1 api: none drives sessions' })
  })

  test('of which none answers requests are a warning', async () => {
    expect((await visit(await deploy({ role: 'worker' }))).find('Processes')).toMatchObject({ status: 'warning' })
  })

  test('of several deployments are a warning that counts them', async () => {
    const env = await deploy({ deployment: 'blue' }, { deployment: 'green' }, { deployment: 'green' })
    expect((await visit(env)).find('Processes')).toMatchObject({
      status: 'warning',
      detail: 'they are of different deployments: blue (1), green (2)',
    })
    expect((await visit({ ...(await deploy({ deployment: 'blue' })), PERDURE_DEPLOYMENT: 'green' })).find('Processes')?.detail).toBe(
      'they are of the deployment blue, this configuration is of green',
    )
  })
})

describe('sessions', () => {
  let stuck: Awaited<ReturnType<typeof openTestPostgres>>
  beforeAll(async () => {
    stuck = await openTestPostgres()
  })
  afterAll(() => stuck.close())

  /** A session that has been due for five minutes. */
  async function wait(agent: string): Promise<string> {
    const made = newSession(clock, { agent, firstDelivery: message(clock) })
    await stuck.store.createSession(made)
    await execute(stuck.url, `UPDATE session_head SET wake_at = now() - interval '5 minutes' WHERE session_id = '${made.id}'`)
    return made.id
  }
  async function look(): Promise<Awaited<ReturnType<typeof visit>>> {
    const env = { ...(await deploy({})), DATABASE_URL: stuck.url }
    return withAgents(AGENTS, (path) => visit(env, path))
  }
  afterEach(() => execute(stuck.url, 'TRUNCATE session, session_head, checkpoint'))

  test('that are due and taken by nobody are broken', async () => {
    await wait('clerk')
    await wait('clerk')
    const { code, find } = await look()
    expect(code).toBe(1)
    expect(find('Sessions')).toMatchObject({
      status: 'broken',
      detail: '2 sessions have been due for up to 5 min, and nobody takes them',
    })
  })

  test('are a warning where no process runs that could take them', async () => {
    await wait('clerk')
    const { find } = await visit({ ...(await deploy()), DATABASE_URL: stuck.url })
    expect(find('Sessions')).toMatchObject({ status: 'warning', mend: expect.stringContaining('perdure start') })
  })

  test('of an agent that is not here are told by its name', async () => {
    await wait('retired')
    expect((await look()).find('Sessions')).toMatchObject({
      status: 'broken',
      detail: '1 session has been due for up to 5 min, and no agent retired is here',
    })
  })

  test('that a newer release wrote are told, due or not', async () => {
    const made = newSession(clock, { agent: 'clerk' })
    await stuck.store.createSession(made)
    await execute(stuck.url, 'UPDATE checkpoint SET version = 99')
    expect((await look()).find('Sessions')).toMatchObject({ status: 'broken', detail: '1 session was written by a newer release' })
  })

  test('that are due for a moment, or held, are no reason to worry', async () => {
    await stuck.store.createSession(newSession(clock, { agent: 'clerk', firstDelivery: message(clock) }))
    const held = await wait('clerk')
    await execute(stuck.url, `UPDATE session_head SET lease_until = now() + interval '1 minute' WHERE session_id = '${held}'`)
    expect((await look()).find('Sessions')).toEqual({
      name: 'Sessions',
      status: 'ok',
      detail: 'none is waiting for a process; 1 driven now',
      mend: null,
    })
  })
})
