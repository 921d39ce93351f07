/**
 * The one place where text and JSON become what PostgreSQL can keep. It refuses NUL in text and in jsonb, and half of a
 * surrogate pair; models, tools and people send both. Each such code unit becomes U+FFFD, one for one, so that offsets into a
 * text stay what they were. The type `SqlValue` admits a string only when it went through here.
 */
declare const safe: unique symbol
/** A string without NUL and lone surrogates. */
export type SafeText = string & { readonly [safe]: true }
/** What a statement may be given. */
export type SqlValue = SafeText | number | boolean | null | readonly SafeText[]

const UNSTORABLE = /\0|\p{Surrogate}/u
const EACH_UNSTORABLE = /\0|\p{Surrogate}/gu
/** As JSON.stringify writes them; whole pairs it leaves as they are. */
const ESCAPED = /\\u(?:0000|d[89a-f])/
/** An escaped backslash is matched only to step over it: `\\u0000` is a backslash and five letters. */
const EACH_ESCAPED = /\\\\|\\u(?:0000|d[89a-f][0-9a-f]{2})/g

const REPLACEMENT = '\\ufffd'

export function toText(value: string): SafeText {
  return (UNSTORABLE.test(value) ? value.replace(EACH_UNSTORABLE, '\ufffd') : value) as SafeText
}

export function toTextOrNull(value: string | null | undefined): SafeText | null {
  return value === null || value === undefined ? null : toText(value)
}

/** JSON text of a value, keys included. */
export function toJson(value: object): SafeText {
  const json = JSON.stringify(value)
  if (!ESCAPED.test(json)) return json as SafeText
  return json.replace(EACH_ESCAPED, (found) => (found === '\\\\' ? found : REPLACEMENT)) as SafeText
}

/** The value as it will be read back; the same object when nothing has to be replaced. `written` is JSON text that it is part of. */
export function asStored<Value extends object>(value: Value, written: SafeText = toJson(value)): Value {
  if (!written.includes(REPLACEMENT)) return value
  const stored = toJson(value)
  return stored === JSON.stringify(value) ? value : (JSON.parse(stored) as Value)
}

/** SQL for the moment that a float8 names in milliseconds since 1970, which is how moments stand in JSON; null for null. */
export function toMoment(column: string): string {
  return `to_timestamp(${column} / 1000)`
}
