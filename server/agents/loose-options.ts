/** Guards for options whose author has no type checker. */
import { closestName } from '../session/closest-name.js'

/** Calls `refuse` when `options` has a key that is not known: a misspelt one would be ignored without a word. */
export function refuseUnknownOptions(options: object, known: readonly string[], refuse: (problem: string) => never): void {
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue
    const closest = closestName(key, known)
    refuse(`there is no option "${key}"; ${closest === null ? `there are ${known.join(', ')}` : `did you mean "${closest}"?`}`)
  }
}

/** True for an object that holds options by name: no null, no list. */
export function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
