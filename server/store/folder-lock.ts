/**
 * One process at a time in a data folder; PGlite itself lets a second one in and they would ruin each other's files. The lock is a
 * file that names its holder, made whole in one step. A holder that is dead (killed, or before a reboot) is told from a living one
 * with the same number by the time its process began; its lock is taken over.
 */
import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PerdureError } from '../errors.js'
import { sqlState } from './database.js'

interface Holder {
  readonly pid: number
  /** When that process began, as the kernel counts; null where it does not tell. */
  readonly began: string | null
  readonly since: string
}

export interface FolderLock {
  /** The dead holder whose lock was taken over, or null. */
  readonly takenFrom: number | null
  release(): void
}

const MAX_TRIES = 5

/** Throws DATA_FOLDER_IN_USE when a living process holds it. */
export function lockFolder(folder: string, now: number): FolderLock {
  const path = join(folder, 'lock')
  const mine = JSON.stringify({ pid: process.pid, began: readBegan(process.pid), since: new Date(now).toISOString() } satisfies Holder)
  const draft = join(folder, `lock.${randomUUID()}`)
  writeFileSync(draft, mine)
  try {
    return { takenFrom: acquire(folder, path, draft), release: () => releaseLock(path, mine) }
  } finally {
    rmSync(draft, { force: true })
  }
}

function acquire(folder: string, path: string, draft: string): number | null {
  let takenFrom: number | null = null
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    if (link(draft, path)) return takenFrom
    const content = read(path)
    if (content === null) continue
    const holder = parseHolder(content)
    if (holder !== null && isAlive(holder)) throw inUse(folder, path, holder)
    if (removeStale(path, content)) takenFrom = holder?.pid ?? 0
  }
  throw new PerdureError('DATA_FOLDER_IN_USE', `${folder} could not be locked: other processes keep starting in it.`, {
    hint: 'stop them, then start again',
  })
}

/** Sets the dead holder's file aside. When a newcomer's was caught instead, it is put back. */
function removeStale(path: string, content: string): boolean {
  const aside = `${path}.${randomUUID()}`
  try {
    renameSync(path, aside)
  } catch (thrown) {
    if (sqlState(thrown) === 'ENOENT') return false
    throw thrown
  }
  const stale = read(aside) === content
  if (!stale) link(aside, path)
  rmSync(aside, { force: true })
  return stale
}

function releaseLock(path: string, mine: string): void {
  if (read(path) === mine) rmSync(path, { force: true })
}

function link(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (thrown) {
    if (sqlState(thrown) === 'EEXIST') return false
    throw thrown
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    if (sqlState(thrown) === 'ENOENT') return null
    throw thrown
  }
}

function parseHolder(content: string): Holder | null {
  try {
    const value: unknown = JSON.parse(content)
    if (typeof value !== 'object' || value === null || !('pid' in value) || typeof value.pid !== 'number') return null
    const began = 'began' in value && typeof value.began === 'string' ? value.began : null
    return { pid: value.pid, began, since: 'since' in value && typeof value.since === 'string' ? value.since : '' }
  } catch {
    // Cut short by a power loss: nobody's.
    return null
  }
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0)
  } catch (thrown) {
    if (sqlState(thrown) === 'ESRCH') return false
  }
  return holder.began === null || holder.began === readBegan(holder.pid)
}

/** The boot and the tick in it at which a process began. */
function readBegan(pid: number): string | null {
  const stat = read(`/proc/${pid}/stat`)
  const boot = read('/proc/sys/kernel/random/boot_id')
  if (stat === null || boot === null) return null
  // The second field, the command, may hold spaces and brackets; the start time is the 20th after it.
  const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  return ticks === undefined ? null : `${boot.trim()}/${ticks}`
}

function inUse(folder: string, path: string, holder: Holder): PerdureError {
  const since = /T(\d\d:\d\d)/.exec(holder.since)?.[1]
  const message = `${folder} is in use by pid ${holder.pid}${since === undefined ? '' : ` (since ${since} UTC)`}.`
  return new PerdureError('DATA_FOLDER_IN_USE', message, {
    hint: `stop that process (kill ${holder.pid}), or use another data folder; if no such process is left, delete ${path}`,
  })
}
