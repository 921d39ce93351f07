/**
 * The Database in a folder: PGlite, PostgreSQL in this process. It has one connection, so statements run one after the other. What
 * was acknowledged survives the process being killed; not a power cut, for it does not wait for the disk.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PGlite } from '@electric-sql/pglite'
import { PerdureError, toMessage } from '../errors.js'
import { CONNECTION_SETTINGS, type Database } from './database.js'
import { EmbeddedStatements } from './embedded-statements.js'
import { lockFolder, type FolderLock } from './folder-lock.js'
import { readSnapshot } from './snapshot.js'

export interface EmbeddedOptions {
  readonly dataDir: string
  readonly now: number
  readonly log: (message: string) => void
}
export interface Embedded extends Database {
  readonly pglite: PGlite
}

/** Throws DATA_FOLDER_IN_USE, or DATA_FOLDER_UNREADABLE when the files can't be opened. */
export async function openEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { dataDir } = options
  const lock = takeFolder(options)
  if (lock.takenFrom !== null) options.log(`data folder ${dataDir} taken over from pid ${lock.takenFrom}, which is gone`)
  try {
    return toDatabase(await openPGlite(options), lock)
  } catch (thrown) {
    lock.release()
    throw thrown
  }
}

function takeFolder({ dataDir, now }: EmbeddedOptions): FolderLock {
  try {
    mkdirSync(dataDir, { recursive: true })
  } catch (thrown) {
    throw new PerdureError('DATA_FOLDER_UNREADABLE', `the data folder ${dataDir} can't be made: ${toMessage(thrown)}`, {
      hint: 'use a folder that this user may write to',
      cause: thrown,
    })
  }
  return lockFolder(dataDir, now)
}

async function openPGlite({ dataDir, log }: EmbeddedOptions): Promise<PGlite> {
  const files = join(dataDir, 'postgres')
  const made = join(dataDir, 'postgres.made')
  try {
    const pglite = existsSync(made) ? await PGlite.create(files) : await makePGlite(files, log)
    writeFileSync(made, '')
    await pglite.exec(CONNECTION_SETTINGS)
    return pglite
  } catch (thrown) {
    throw new PerdureError('DATA_FOLDER_UNREADABLE', `the database in ${files} can't be opened: ${toMessage(thrown)}`, {
      hint: `restore ${dataDir} from a backup, or move it away to begin with an empty one`,
      cause: thrown,
    })
  }
}

/** What a first start that was cut short left behind is half a database, of which nothing was ever acknowledged. */
async function makePGlite(files: string, log: (message: string) => void): Promise<PGlite> {
  const snapshot = readSnapshot()
  rmSync(files, { recursive: true, force: true })
  if (snapshot === null) return PGlite.create(files)
  try {
    return await PGlite.create(files, { loadDataDir: snapshot })
  } catch (thrown) {
    log(`the prepared database can't be used, so one is made, which takes seconds: ${toMessage(thrown)}`)
    rmSync(files, { recursive: true, force: true })
    return PGlite.create(files)
  }
}

function toDatabase(pglite: PGlite, lock: FolderLock): Embedded {
  const statements = new EmbeddedStatements(pglite)
  return {
    kind: 'embedded',
    pglite,
    query: (statement, values) => statements.run(statement, values),
    close: async () => {
      await pglite.close()
      lock.release()
    },
  }
}
