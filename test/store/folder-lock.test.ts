import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lockFolder } from '../../server/store/folder-lock.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-lock-'))
})
afterEach(() => rm(folder, { recursive: true }))

const NOON = Date.UTC(2026, 0, 2, 11, 58)

describe('a data folder is for one process', () => {
  it('a second one is told who holds it, since when, and what to do', () => {
    const lock = lockFolder(folder, NOON)
    expect(() => lockFolder(folder, NOON)).toThrow(
      expect.objectContaining({
        code: 'DATA_FOLDER_IN_USE',
        message: `${folder} is in use by pid ${process.pid} (since 11:58 UTC).`,
        hint: expect.stringContaining(`kill ${process.pid}`),
      }),
    )
    lock.release()
    lockFolder(folder, NOON).release()
  })

  it('leaves no file behind', async () => {
    lockFolder(folder, NOON).release()
    expect(await readdir(folder)).toEqual([])
  })

  it('the lock of a dead process is taken over', async () => {
    const child = spawn(process.execPath, ['-e', ''])
    await once(child, 'exit')
    await writeFile(join(folder, 'lock'), JSON.stringify({ pid: child.pid, began: 'boot/1', since: '' }))
    expect(lockFolder(folder, NOON).takenFrom).toBe(child.pid)
  })

  it('the lock of a dead process whose number another one has by now is taken over', async () => {
    const lock = lockFolder(folder, NOON)
    const holder = JSON.parse(await readFile(join(folder, 'lock'), 'utf8')) as object
    lock.release()
    await writeFile(join(folder, 'lock'), JSON.stringify({ ...holder, began: 'an earlier boot/17' }))
    expect(lockFolder(folder, NOON).takenFrom).toBe(process.pid)
  })

  it('a file that was cut short is nobody’s', async () => {
    await writeFile(join(folder, 'lock'), '{"pid": 1')
    expect(() => lockFolder(folder, NOON)).not.toThrow()
  })

  it('a holder that was replaced does not remove the newcomer’s lock', async () => {
    const old = lockFolder(folder, NOON)
    await rm(join(folder, 'lock'))
    lockFolder(folder, NOON + 1000)
    old.release()
    expect(await readdir(folder)).toEqual(['lock'])
  })
})
