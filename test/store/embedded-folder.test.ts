/** The embedded database's folder through the lives of processes. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import { storedId } from '../../server/ids.js'
import { openStore, type OpenStore } from '../../server/store/open.js'
import { MIGRATIONS } from '../support/databases.js'
import { TTL_MS, claimDue, claimNew, newSession } from '../support/store-fixtures.js'

const WRITER = fileURLToPath(new URL('../support/write-until-killed.ts', import.meta.url))
let dataDir: string
let said: string[]

beforeEach(async () => {
  said = []
  dataDir = join(await mkdtemp(join(tmpdir(), 'perdure-')), 'data')
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

function open(): Promise<OpenStore> {
  return openStore({ databaseUrl: null, dataDir, migrationsDir: MIGRATIONS, clock, log: (message) => said.push(message) })
}

it('keeps what it holds over a restart, and a driven session goes on at once', async () => {
  const first = await open()
  const made = newSession(clock)
  await first.store.createSession(made)
  const session = await claimNew({ ...first, clock }, { agent: 'driven' }, TTL_MS)
  expect([first.recovered, first.location]).toEqual([0, dataDir])
  await first.close()
  const second = await open()
  expect([second.recovered, second.applied]).toEqual([1, []])
  expect(await second.prisma.session.count()).toBe(2)
  expect((await claimDue(second.store, session.facts.id, 'driven')).lease.epoch).toBe(2)
  await second.close()
  expect(said).toEqual([])
})

it('a second opening is refused and does the first no harm', async () => {
  const first = await open()
  await expect(open()).rejects.toMatchObject({ code: 'DATA_FOLDER_IN_USE' })
  await first.store.createSession(newSession(clock))
  await first.close()
})

it('a folder that cannot be made is named', async () => {
  const file = `${dataDir}.file`
  await writeFile(file, '')
  const fault = openStore({ databaseUrl: null, dataDir: join(file, 'data'), migrationsDir: MIGRATIONS, clock })
  await expect(fault).rejects.toMatchObject({ code: 'DATA_FOLDER_UNREADABLE', message: expect.stringContaining(file) })
})

it('loses nothing that was acknowledged when its process is killed while it writes', async () => {
  const child = spawn(process.execPath, ['--import', 'tsx', WRITER, dataDir, MIGRATIONS], { stdio: ['ignore', 'pipe', 'inherit'] })
  const acknowledged = await killAfter(child, 40)
  const opened = await open()
  expect(said).toEqual([expect.stringContaining(`taken over from pid ${child.pid}`)])
  const [row] = await opened.prisma.session.findMany()
  const log = await opened.store.readEvents(storedId('ses', row?.id ?? ''), 0, 10_000)
  expect(log.length).toBeGreaterThanOrEqual(acknowledged)
  expect(log.map(({ position }) => position)).toEqual(log.map((_, index) => index + 1))
  expect(opened.recovered).toBe(1)
  await opened.close()
})

/** Kills a process after so many lines; answers the number on the last one. */
async function killAfter(child: ChildProcess, lines: number): Promise<number> {
  if (child.stdout === null) throw new Error('the child has no output')
  let last = 0
  for await (const line of createInterface({ input: child.stdout })) {
    last = Number(line)
    if (last >= lines) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  return last
}
