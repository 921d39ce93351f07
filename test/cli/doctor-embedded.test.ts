import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import type { OpenStore } from '../../server/store/open.js'
import { openTestEmbedded } from '../support/databases.js'
import { message, newSession } from '../support/store-fixtures.js'
import { visit } from './doctor-visit.js'

let opened: OpenStore & { readonly dataDir: string }
beforeAll(async () => {
  opened = await openTestEmbedded()
})
afterAll(() => rm(opened.dataDir, { recursive: true, force: true }))

test('an embedded database that is not there yet is fine, and is not made', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-none-'))
  for (const time of ['first', 'second']) {
    const { code, find } = await visit({ PERDURE_DATA_DIR: join(folder, 'data') })
    expect({ time, code }).toEqual({ time, code: 0 })
    expect(find('Database')).toMatchObject({ status: 'ok', detail: expect.stringContaining('the first start makes it') })
  }
  await rm(folder, { recursive: true })
})

test('one that a running server holds is fine too; one that nobody holds is looked into, and what waits in it waits for the next start', async () => {
  const held = await visit({ PERDURE_DATA_DIR: opened.dataDir })
  expect(held.code).toBe(0)
  expect(held.find('Database')).toMatchObject({ status: 'ok', detail: expect.stringContaining(`in use by pid ${process.pid}`) })

  await opened.store.createSession(newSession(clock, { agent: 'clerk', firstDelivery: message(clock) }))
  await opened.prisma.$executeRawUnsafe("UPDATE session_head SET wake_at = now() - interval '5 minutes'")
  await opened.prisma.$disconnect()
  await opened.database.close()
  const { code, find, complaints } = await visit({ PERDURE_DATA_DIR: opened.dataDir })
  expect({ code, complaints }).toEqual({ code: 0, complaints: ['Sessions'] })
  expect(find('Sessions')).toMatchObject({ status: 'warning', mend: expect.stringContaining('perdure start') })
  expect(find('Migrations')).toMatchObject({ status: 'ok' })
})
