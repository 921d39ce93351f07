/** Values that an author's code computes once for a session, for tools that need them again and again (`context.memo`). */
import type { Clock } from '../../clock.js'
import { PerdureError, type Json } from '../../errors.js'
import type { Log, SessionStore } from '../ports.js'
import type { Lease } from '../session.js'
import { untilKnown } from '../until-known.js'
import { toJson } from './to-json.js'

const MAX_KEY = 255
const MAX_BYTES = 64 * 1024

export interface MemoPorts {
  readonly store: Pick<SessionStore, 'loadMemo' | 'saveMemo'>
  readonly clock: Clock
  readonly log: Log
  /** The lease is gone. */
  readonly lost: AbortSignal
}

/** Of one session, while it is driven under one lease. */
export class Memos {
  readonly #ports: MemoPorts
  readonly #lease: Lease
  /** Under way or known: calls side by side that want the same value compute it once. */
  readonly #values: Map<string, Promise<Json>> = new Map()

  constructor(ports: MemoPorts, lease: Lease) {
    this.#ports = ports
    this.#lease = lease
  }

  /** Throws what `compute` throws, and keeps nothing then; MEMO_INVALID for a key or a value that cannot be kept. */
  async get<Value>(key: string, compute: () => Value | Promise<Value>): Promise<Value> {
    const value = this.#values.get(key) ?? this.#find(key, compute)
    this.#values.set(key, value)
    value.catch(() => this.#values.delete(key))
    // What was kept under this key is what its author's code gave, as JSON.
    return (await value) as Value
  }

  async #find(key: string, compute: () => unknown): Promise<Json> {
    if (typeof key !== 'string' || key === '' || key.length > MAX_KEY) {
      throw new PerdureError('MEMO_INVALID', `the key of a memo must be a text of 1 to ${MAX_KEY} characters`)
    }
    const found = await this.#load(key)
    if (found !== null) return found.value
    const value = toValue(key, await compute())
    const memo = { key, value, at: this.#ports.clock.now() }
    const outcome = await this.#ask(() => this.#ports.store.saveMemo(this.#lease, memo))
    if (outcome === 'fenced') throw new PerdureError('LEASE_LOST', `the memo "${key}" was not kept: another worker took the session`)
    return outcome === 'kept' ? value : ((await this.#load(key))?.value ?? value)
  }

  #load(key: string): Promise<{ readonly value: Json } | null> {
    return this.#ask(() => this.#ports.store.loadMemo(this.#lease.sessionId, key))
  }

  /** A database that is away for a moment is no fault of the tool; both questions may be repeated. */
  async #ask<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    const answer = await untilKnown(async () => ({ is: await question() }), this.#ports, this.#ports.lost)
    if (answer === null) throw new PerdureError('LEASE_LOST', 'the session was lost before the database answered for its memo')
    return answer.is
  }
}

function toValue(key: string, given: unknown): Json {
  const converted = toJson(given)
  if (!converted.ok)
    throw new PerdureError('MEMO_INVALID', `the memo "${key}" cannot be kept: ${converted.path} ${converted.problem}`.trim())
  const bytes = Buffer.byteLength(JSON.stringify(converted.value))
  if (bytes <= MAX_BYTES) return converted.value
  throw new PerdureError('MEMO_INVALID', `the memo "${key}" has ${bytes} bytes of JSON; at most ${MAX_BYTES} fit`)
}
