/** The arguments of a call as one word, so that it can be told later that they are still the same. */
import { createHash } from 'node:crypto'
import type { Json } from '../errors.js'

/** What a database cannot keep, and gives back as U+FFFD. */
const UNSTORABLE = /\0|\p{Surrogate}/gu

/** The same before the arguments are stored and after: a database has an order of its own for their keys. */
export function hashInput(input: Json): string {
  return createHash('sha256')
    .update(JSON.stringify(normalize(input)))
    .digest('hex')
}

function normalize(value: Json): Json {
  if (typeof value === 'string') return toStored(value)
  if (Array.isArray(value)) return value.map(normalize)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]) => [toStored(key), normalize(inner)] as const)
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
}

function toStored(text: string): string {
  return text.replace(UNSTORABLE, '\ufffd')
}
