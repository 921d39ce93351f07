/**
 * A fresh embedded database, made once and unpacked in each new data folder, which takes a fraction of the time that making one does.
 * It is an accelerator: it may be missing, and one that the installed PGlite can't read is not used.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PGlite } from '@electric-sql/pglite'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NAME = 'embedded-database.tar.gz'
/** With a published server, or in the cache of a working copy. */
const PATHS = [join(ROOT, 'dist', NAME), join(ROOT, 'node_modules/.cache/perdure', NAME)] as const

export function readSnapshot(): Blob | null {
  const path = PATHS.find((candidate) => existsSync(candidate))
  return path === undefined ? null : new Blob([readFileSync(path)])
}

/** Writes it to `path`, whole or not at all; by default to the cache of the working copy. Takes seconds. */
export async function buildSnapshot(path: string = PATHS[1]): Promise<void> {
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  const pglite = await PGlite.create()
  try {
    const archive = await pglite.dumpDataDir('gzip')
    writeFileSync(draft, new Uint8Array(await archive.arrayBuffer()))
    renameSync(draft, path)
  } finally {
    rmSync(draft, { force: true })
    await pglite.close()
  }
}
