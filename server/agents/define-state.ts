import { PerdureError } from '../errors.js'
import type { State } from '../session/state.js'
import { toSchema, type SchemaLike } from './schema.js'

const KEY = /^[a-zA-Z][a-zA-Z0-9_.-]{0,63}$/

/**
 * Defines a value that tools keep with the session, from call to call and across restarts: `await context.state.get(cart)`,
 * `await context.state.set(cart, …)`. Kept as JSON, at most 64 KiB of all of a session's together. Throws PerdureError STATE_INVALID when the
 * key or the schema cannot be used.
 *
 * ```ts
 * const cart = defineState('cart', z.object({ items: z.array(z.string()) }), { items: [] })
 * ```
 */
export function defineState<Value>(key: string, schema: SchemaLike<unknown, Value>, initial: Value): State<Value> {
  if (typeof key !== 'string' || !KEY.test(key)) {
    const shown = JSON.stringify(key)
    throw new PerdureError(
      'STATE_INVALID',
      `${shown} is no key of a state; use letters, digits, dots, dashes and _, at most 64, and begin with a letter`,
    )
  }
  const made = toSchema<Value>(schema, 'output')
  if (!made.ok) throw new PerdureError('STATE_INVALID', `the schema of the state "${key}" cannot be used: ${made.refused}`)
  return Object.freeze<State<Value>>({
    key,
    initial,
    async parse(value) {
      const parsed = await made.schema.parse(value)
      if (parsed.ok) return parsed.value
      throw new PerdureError('STATE_INVALID', `the state "${key}" does not fit its schema: ${parsed.problem}`)
    },
  })
}
