/**
 * The schemas that an author may write (any Standard Schema that converts itself to JSON Schema, or plain JSON Schema) as one
 * thing: JSON Schema to show and to send to models, and a parser.
 */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import { isRecord } from './loose-options.js'
import { toJsonObject, readMessage, type JsonObject } from '../session/perform/to-json.js'

/** JSON Schema, draft 2020-12, of an object. */
export interface JsonSchema {
  readonly type: 'object'
  readonly [keyword: string]: unknown
}
/** `In` is what the schema takes, `Out` what it gives: they differ by defaults and transforms. Plain JSON Schema changes nothing. */
export type SchemaLike<In, Out> = StandardSchemaV1<In, Out> | JsonSchema

export interface Schema<T> {
  readonly json: JsonObject
  /** Rejects only when the author's own code in the schema throws. */
  parse(value: unknown): Parsed<T> | Promise<Parsed<T>>
}
/** `problem` lists each path with what is wrong there, for a model or a person to read. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string }
/** `refused` says what is wrong with the schema and the mend. */
export type SchemaResult<T> = { readonly ok: true; readonly schema: Schema<T> } | { readonly ok: false; readonly refused: string }

const MAX_ISSUES = 10

/**
 * `side` picks what is shown of a schema whose input and output differ: for arguments what it takes, for results what it gives.
 * The root of the JSON Schema is an object for arguments (providers ask for it); results may be anything.
 */
export function toSchema<T>(like: SchemaLike<unknown, T>, side: 'input' | 'output'): SchemaResult<T> {
  if (isStandard<T>(like)) return fromStandard(like, side)
  if (isRecord(like)) return fromJsonSchema<T>(like, side)
  return { ok: false, refused: `it is ${JSON.stringify(like)}; give a Standard Schema (zod 4.2 or newer) or JSON Schema` }
}

function isStandard<T>(like: unknown): like is StandardSchemaV1<unknown, T> {
  return (typeof like === 'object' || typeof like === 'function') && like !== null && '~standard' in like
}

function fromStandard<T>(schema: StandardSchemaV1<unknown, T>, side: 'input' | 'output'): SchemaResult<T> {
  const props = schema['~standard']
  if (!canConvert(props)) {
    const refused = `a schema of ${props.vendor} does not convert itself to JSON Schema; use zod 4.2 or newer, or give plain JSON Schema`
    return { ok: false, refused }
  }
  const converted = convert(() => props.jsonSchema[side]({ target: 'draft-2020-12' }), side)
  if (!converted.ok) return converted
  return {
    ok: true,
    schema: {
      json: converted.json,
      parse: (value) => {
        const result = props.validate(value)
        return result instanceof Promise ? result.then(fromResult) : fromResult(result)
      },
    },
  }
}

function canConvert<In, Out>(
  props: StandardSchemaV1.Props<In, Out>,
): props is StandardSchemaV1.Props<In, Out> & StandardJSONSchemaV1.Props<In, Out> {
  return 'jsonSchema' in props && typeof props.jsonSchema === 'object' && props.jsonSchema !== null
}

function fromResult<T>(result: StandardSchemaV1.Result<T>): Parsed<T> {
  if (result.issues === undefined) return { ok: true, value: result.value }
  return { ok: false, problem: listIssues(result.issues.map((issue) => withPath((issue.path ?? []).map(toKey), issue.message))) }
}

function toKey(segment: PropertyKey | StandardSchemaV1.PathSegment): string {
  return String(typeof segment === 'object' ? segment.key : segment)
}

function fromJsonSchema<T>(schema: object, side: 'input' | 'output'): SchemaResult<T> {
  const converted = convert(() => schema, side)
  if (!converted.ok) return converted
  const { json } = converted
  // Formats are annotations, as the draft has it; unknown keywords are the author's own.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false, logger: false })
  try {
    // The author vouches that the schema describes T: JSON Schema carries no types.
    const isValid = ajv.compile<T>(json)
    const parse = (value: unknown): Parsed<T> =>
      isValid(value) ? { ok: true, value } : { ok: false, problem: listIssues((isValid.errors ?? []).map(fromAjv)) }
    return { ok: true, schema: { json, parse } }
  } catch (thrown) {
    return { ok: false, refused: `it is no valid JSON Schema (draft 2020-12): ${readMessage(thrown)}` }
  }
}

function fromAjv(error: ErrorObject): string {
  const path = error.instancePath.split('/').slice(1)
  const extra: unknown = error.params['additionalProperty'] ?? error.params['unevaluatedProperty']
  const allowed: unknown = error.params['allowedValues']
  const detail = typeof extra === 'string' ? `: ${extra}` : Array.isArray(allowed) ? `: ${allowed.map(String).join(', ')}` : ''
  return withPath(
    path.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~')),
    `${error.message ?? error.keyword}${detail}`,
  )
}

type Converted = { readonly ok: true; readonly json: JsonObject } | { readonly ok: false; readonly refused: string }

function convert(read: () => object, side: 'input' | 'output'): Converted {
  try {
    const json = toJsonObject(read())
    if (json === null) return { ok: false, refused: 'its JSON Schema is no JSON object' }
    if (side === 'input' && json['type'] !== 'object') {
      const found = typeof json['type'] === 'string' ? `type ${JSON.stringify(json['type'])}` : 'no type'
      return { ok: false, refused: `its root must be an object and has ${found}; wrap it, e.g. z.object({ value: … })` }
    }
    const { $schema: _, ...rest } = json
    return { ok: true, json: rest }
  } catch (thrown) {
    return { ok: false, refused: `it has no JSON Schema: ${readMessage(thrown)}` }
  }
}

function withPath(path: readonly string[], message: string): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`
}

function listIssues(issues: readonly string[]): string {
  const distinct = [...new Set(issues)]
  const more = distinct.length > MAX_ISSUES ? [`and ${String(distinct.length - MAX_ISSUES)} more`] : []
  return [...distinct.slice(0, MAX_ISSUES), ...more].join('; ')
}
