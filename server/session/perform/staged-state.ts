/** State as one call of a tool sees it: what is committed, and on top what it has set itself. */
import { PerdureError, type Json } from '../../errors.js'
import type { SessionState, State, StateAccess } from '../state.js'
import { toJson } from './to-json.js'

export class StagedState implements StateAccess {
  readonly #committed: () => SessionState
  readonly #staged: Map<string, Json> = new Map()

  /** `committed` is asked at each read: calls beside this one may complete meanwhile. */
  constructor(committed: () => SessionState) {
    this.#committed = committed
  }

  async get<Value>(of: State<Value>): Promise<Value> {
    const { key } = of
    const stored = this.#staged.has(key) ? this.#staged.get(key) : this.#committed()[key]
    return stored === undefined ? of.initial : of.parse(stored)
  }

  async set<Value>(of: State<Value>, value: Value): Promise<void> {
    const converted = toJson(await of.parse(value))
    if (!converted.ok)
      throw new PerdureError('STATE_INVALID', `the state "${of.key}" cannot be kept: ${converted.path} ${converted.problem}`)
    this.#staged.set(of.key, converted.value)
  }

  /** Null: it has set nothing. */
  get changes(): SessionState | null {
    return this.#staged.size === 0 ? null : Object.fromEntries(this.#staged)
  }
}
