import { isAbsolute, relative } from 'node:path'

/** A path as seen from the working directory, when that is shorter. Anything else than an absolute path comes back as it is. */
export function nearName(location: string, cwd: string): string {
  if (!isAbsolute(location)) return location
  const near = relative(cwd, location)
  return near === '' ? '.' : near.startsWith('..') ? location : near
}
