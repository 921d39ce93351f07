import { afterEach, describe, expect, test } from 'vitest'
import { createTestDatabase, openTestPostgres } from '../support/databases.js'
import { findFreePort } from '../support/server-process.js'
import { AGENTS, execute, visit, withAgents } from './doctor-visit.js'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

describe('a configuration', () => {
  test('that cannot be used is all that is told: 1', async () => {
    const { code, checks } = await visit({ PERDURE_SLOTS: 'many' })
    expect(code).toBe(1)
    expect(checks).toEqual([
      { name: 'Configuration', status: 'broken', detail: expect.stringContaining('PERDURE_SLOTS is "many"'), mend: 'PERDURE_SLOTS=16' },
    ])
  })

  test('with a Redis that nobody uses is a warning: 0', async () => {
    const { code, complaints } = await visit({ REDIS_URL: 'redis://127.0.0.1:6379' })
    expect({ code, complaints }).toEqual({ code: 0, complaints: ['Configuration'] })
  })
})

describe('agents', () => {
  test('whose file does not load are broken, with the place', async () => {
    const { code, find } = await withAgents('export default 1 +\n', (path) => visit({}, path))
    expect(code).toBe(1)
    expect(find('Agents')).toMatchObject({ status: 'broken', detail: expect.stringContaining('agents.mjs') })
  })

  test('whose model has no key are broken, with what to set', async () => {
    const text = AGENTS.replace('scripted()', "'openai/gpt-5'")
    expect((await withAgents(text, (path) => visit({}, path))).find('Agents')).toMatchObject({
      status: 'broken',
      detail: expect.stringContaining('OPENAI_API_KEY is not set'),
      mend: expect.stringContaining('OPENAI_API_KEY='),
    })
  })

  test('that nobody named are skipped; named ones have to be there', async () => {
    expect((await visit({})).find('Agents')).toMatchObject({ status: 'skipped', detail: expect.stringContaining('perdure doctor <path>') })
    expect((await visit({}, 'nowhere')).find('Agents')).toMatchObject({ status: 'broken' })
  })
})

describe('a database', () => {
  test('that cannot be reached: 1, with the reason and the mend, and nothing made up about it', async () => {
    const url = `postgresql://app:sesame@127.0.0.1:${await findFreePort()}/perdure`
    const { code, checks, find } = await visit({ DATABASE_URL: url })
    expect(code).toBe(1)
    expect(find('Database')).toMatchObject({ status: 'broken', detail: expect.stringContaining('ECONNREFUSED'), mend: expect.any(String) })
    expect(JSON.stringify(checks)).not.toContain('sesame')
    expect(checks.map(({ name }) => name)).toEqual(['Configuration', 'Agents', 'Database', 'Redis'])
  })

  test('without tables is a warning that names the migrations, and stays without them', async () => {
    const { url, drop } = await createTestDatabase()
    closers.push(drop)
    for (const time of ['first', 'second']) {
      const { code, find, checks } = await visit({ DATABASE_URL: url })
      expect({ time, code }).toEqual({ time, code: 0 })
      expect(find('Migrations')).toMatchObject({ status: 'warning', mend: expect.stringContaining('perdure migrate') })
      expect(find('Migrations')?.detail).toContain('20261129000000_init')
      expect(checks.map(({ name }) => name)).not.toContain('Sessions')
    }
  })

  test('that is newer than this release is broken, as a start would find', async () => {
    const { url, close } = await openTestPostgres()
    closers.push(close)
    await execute(
      url,
      "INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('x', 'x', '29990101000000_later', now())",
    )
    const { code, find } = await visit({ DATABASE_URL: url })
    expect(code).toBe(1)
    expect(find('Migrations')).toMatchObject({ status: 'broken', detail: expect.stringContaining('29990101000000_later') })
  })

  test('whose settings break promises is broken or a warning, with the statement that mends it', async () => {
    const { url, close } = await openTestPostgres()
    closers.push(close)
    const name = new URL(url).pathname.slice(1)
    await execute(url, `ALTER DATABASE ${name} SET synchronous_commit = off`)
    await execute(url, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
    await execute(url, `ALTER DATABASE ${name} CONNECTION LIMIT 5`)
    const { code, find } = await visit({ DATABASE_URL: url })
    expect(code).toBe(1)
    expect(find('Database')).toMatchObject({
      status: 'broken',
      mend: `ALTER DATABASE ${name} SET default_transaction_isolation = 'read committed'`,
    })
    expect(find('Durability')).toMatchObject({ status: 'warning', mend: `ALTER DATABASE ${name} SET synchronous_commit = on` })
    expect(find('Connections')).toMatchObject({ status: 'warning', detail: expect.stringMatching(/^room for 5; a process may use 10/) })
  })

  test('that only reads is broken', async () => {
    const { url, close } = await openTestPostgres()
    closers.push(close)
    const name = new URL(url).pathname.slice(1)
    await execute(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`)
    expect((await visit({ DATABASE_URL: url })).find('Database')).toMatchObject({ status: 'broken', detail: 'transactions only read' })
  })
})
