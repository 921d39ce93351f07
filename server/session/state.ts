/** What an author's code remembers of a session from call to call. Kept in the commit of the call that set it, and with the session. */
import type { Json } from '../errors.js'

/** All of it, by key. */
export type SessionState = { readonly [key: string]: Json }
/** Of one session, as JSON, bytes. */
export const MAX_STATE_BYTES = 64 * 1024

/** One value of it, made by `defineState`. */
export interface State<Value> {
  readonly key: string
  /** What it is until it is set. */
  readonly initial: Value
  /** Throws PerdureError STATE_INVALID when it does not fit. */
  parse(value: unknown): Promise<Value>
}

export interface StateAccess {
  /** What this call has set, or an earlier one that completed; else the initial value. */
  get<Value>(of: State<Value>): Promise<Value>
  /** Kept in the commit of this call's result, if it completes; forgotten with a call that fails or is lost. */
  set<Value>(of: State<Value>, value: Value): Promise<void>
}
