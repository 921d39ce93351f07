import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Made by a tool from something else that is fingerprinted. */
const MADE = new Set(['generated', 'node_modules', 'dist'])

/**
 * A hash over the names and contents of files and folders, relative to `root`. What does not exist counts as absent.
 * @param {string} root
 * @param {readonly string[]} paths
 */
export function fingerprint(root, paths) {
  const hash = createHash('sha256')
  for (const path of paths.flatMap((each) => filesUnder(root, each))) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(root, path)))
      .update('\0')
  }
  return hash.digest('hex')
}

function filesUnder(root, path) {
  const stat = statSync(join(root, path), { throwIfNoEntry: false })
  if (stat === undefined) return []
  if (stat.isFile()) return [path]
  return readdirSync(join(root, path))
    .filter((name) => !MADE.has(name))
    .sort()
    .flatMap((name) => filesUnder(root, `${path}/${name}`))
}
