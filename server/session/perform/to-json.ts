/**
 * Turns whatever author code gives into JSON, once, or says which value is none and what to do about it. Stricter than
 * `JSON.stringify`, which loses a Map or NaN without a word. What it takes: JSON values, anything with `toJSON` (so a Date becomes
 * ISO text), instances of plain classes (their own fields). A property that is undefined is left out, as JSON does.
 */
import { toMessage, type Json } from '../../errors.js'

export type JsonObject = { readonly [key: string]: Json }
export type JsonConversion =
  | { readonly ok: true; readonly value: Json }
  /** `path` is written as in code: `items[2].due`; empty for the value itself. `problem` says what it is and the mend. */
  | { readonly ok: false; readonly path: string; readonly problem: string }

const MAX_DEPTH = 200
/** Values and characters together: a bound on work, far above what may be stored. */
const MAX_SIZE = 64 * 1024 * 1024

const MENDS: Readonly<Record<string, string>> = {
  Map: 'is a Map; use Object.fromEntries(map)',
  Set: 'is a Set; use [...set]',
  WeakMap: 'is a WeakMap; leave it out',
  WeakSet: 'is a WeakSet; leave it out',
  Promise: 'is a Promise; await it',
  RegExp: 'is a RegExp; use its source',
  Error: 'is an Error; throw it, or use its message',
  ArrayBuffer: 'is binary; encode it as base64 text',
  SharedArrayBuffer: 'is binary; encode it as base64 text',
  Generator: 'is a generator; use [...generator]',
  AsyncGenerator: 'is an async generator; make execute itself the generator',
}

/** Never throws. An undefined value becomes null. */
export function toJson(value: unknown): JsonConversion {
  try {
    return { ok: true, value: convert(value, { place: null, open: new Set(), budget: { left: MAX_SIZE } }) ?? null }
  } catch (thrown) {
    if (isInstance(thrown, Refusal)) return { ok: false, path: thrown.path, problem: thrown.problem }
    return { ok: false, path: '', problem: `cannot be read: ${readMessage(thrown)}` }
  }
}

/** A JSON object of what is known to be one, or null. */
export function toJsonObject(value: unknown): JsonObject | null {
  const converted = toJson(value)
  return converted.ok && isJsonObject(converted.value) ? converted.value : null
}

export function isJsonObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Where the walk is: a list from the value up to the root. */
interface Place {
  readonly parent: Place | null
  readonly key: string | number
  readonly depth: number
}
interface Walk {
  readonly place: Place | null
  /** The objects above this one; meeting one again is a cycle. */
  readonly open: Set<object>
  readonly budget: { left: number }
}

/** Stays inside this file: unwinds the walk from wherever it met what is no JSON. */
class Refusal extends Error {
  readonly path: string
  readonly problem: string

  constructor(place: Place | null, problem: string) {
    super(problem)
    this.path = toPath(place)
    this.problem = problem
  }
}

function convert(value: unknown, walk: Walk): Json | undefined {
  spend(walk, typeof value === 'string' ? value.length + 1 : 1)
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new Refusal(walk.place, `is ${String(value)}; use null or a text`)
      return value
    case 'bigint':
      throw new Refusal(walk.place, 'is a BigInt; use String(value)')
    case 'function':
      throw new Refusal(walk.place, 'is a function; leave it out')
    case 'symbol':
      throw new Refusal(walk.place, 'is a symbol; use its description')
    case 'object':
      return value === null ? null : convertObject(value, walk)
  }
}

function convertObject(value: object, walk: Walk): Json | undefined {
  if (walk.open.has(value)) throw new Refusal(walk.place, 'contains itself; use an id instead')
  if ((walk.place?.depth ?? 0) > MAX_DEPTH) throw new Refusal(walk.place, `is nested deeper than ${String(MAX_DEPTH)} levels; flatten it`)
  if (ArrayBuffer.isView(value)) throw new Refusal(walk.place, 'is binary; encode it as base64 text')
  if (value instanceof Date && Number.isNaN(value.getTime())) throw new Refusal(walk.place, 'is an invalid Date; use null')
  walk.open.add(value)
  const json = convertOpen(value, walk)
  walk.open.delete(value)
  return json
}

function convertOpen(value: object, walk: Walk): Json | undefined {
  if (Array.isArray(value)) return Array.from(value, (item: unknown, index) => convertItem(item, index, walk))
  if ('toJSON' in value && typeof value.toJSON === 'function') {
    const plain: unknown = Reflect.apply(value.toJSON, value, [])
    return convert(plain, walk)
  }
  const mend = MENDS[Object.prototype.toString.call(value).slice('[object '.length, -1)]
  if (mend !== undefined) throw new Refusal(walk.place, mend)
  return convertFields(value, walk)
}

function convertItem(item: unknown, index: number, walk: Walk): Json {
  const inside = enter(walk, index)
  const json = convert(item, inside)
  if (json === undefined) throw new Refusal(inside.place, 'is undefined; use null')
  return json
}

function convertFields(value: object, walk: Walk): JsonObject {
  const fields: [string, Json][] = []
  for (const key of Object.keys(value)) {
    spend(walk, key.length)
    const json = convertField(value, key, walk)
    if (json !== undefined) fields.push([key, json])
  }
  return Object.fromEntries(fields)
}

function convertField(value: object, key: string, walk: Walk): Json | undefined {
  const inside = enter(walk, key)
  return convert(readField(value, key, inside.place), inside)
}

function readField(value: object, key: string, place: Place | null): unknown {
  try {
    return Reflect.get(value, key)
  } catch (thrown) {
    throw new Refusal(place, `cannot be read: ${readMessage(thrown)}`)
  }
}

function enter(walk: Walk, key: string | number): Walk {
  return { ...walk, place: { parent: walk.place, key, depth: (walk.place?.depth ?? 0) + 1 } }
}

function spend(walk: Walk, amount: number): void {
  walk.budget.left -= amount
  if (walk.budget.left < 0) throw new Refusal(null, 'is larger than 64 MiB; give a part of it, or where to find it')
}

function toPath(place: Place | null): string {
  let path = ''
  for (let at = place; at !== null; at = at.parent) path = `${toSegment(at.key)}${path}`
  return path.startsWith('.') ? path.slice(1) : path
}

function toSegment(key: string | number): string {
  if (typeof key === 'number') return `[${String(key)}]`
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}

/** `instanceof` for what was thrown: a proxy may throw even there. */
export function isInstance<T extends object>(thrown: unknown, type: abstract new (...given: never[]) => T): thrown is T {
  try {
    return thrown instanceof type
  } catch {
    return false
  }
}

/** The message of anything that was thrown, even of what resists being read. */
export function readMessage(thrown: unknown): string {
  try {
    const message: unknown = toMessage(thrown)
    if (typeof message === 'string' && message.trim() !== '') return message
    return thrown instanceof Error ? thrown.name : 'nothing was said'
  } catch {
    return 'a value that cannot be shown'
  }
}
