/** Reads JSON that somebody else wrote: what is missing or of another type reads as absent, nothing throws. */
export type JsonRecord = { readonly [key: string]: unknown }

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** '' when absent. */
export function textAt(record: JsonRecord, key: string): string {
  const value = record[key]
  return typeof value === 'string' ? value : ''
}

export function numberAt(record: JsonRecord, key: string): number | null {
  const value = record[key]
  return typeof value === 'number' && Number.isFinite(value) ? value : null
}

export function recordAt(record: JsonRecord, key: string): JsonRecord | null {
  const value = record[key]
  return isRecord(value) ? value : null
}

/** The records of a list; whatever else stands in it is left out. */
export function recordsAt(record: JsonRecord, key: string): readonly JsonRecord[] {
  const value = record[key]
  return Array.isArray(value) ? value.filter(isRecord) : []
}
