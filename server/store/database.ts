/**
 * The narrow port to PostgreSQL, over the network or embedded. A statement is one network round trip and one transaction; there
 * are no others (no interactive transactions).
 */
import type { SqlValue } from './json-column.js'

declare const rowType: unique symbol
/** A prepared statement. The name stands for the text for the life of a connection; equal names have equal texts. */
export interface Statement<Row> {
  readonly name: string
  readonly text: string
  readonly [rowType]?: Row
}

export interface Database {
  readonly kind: 'embedded' | 'postgres'
  /** Throws OutcomeUnknown when the connection is lost, the driver's error (with its SQLSTATE in `code`) otherwise. */
  query<Row>(statement: Statement<Row>, values: readonly SqlValue[]): Promise<readonly Row[]>
  close(): Promise<void>
}

/**
 * What every connection is told first. All statements go by keys. While a table is small, or its statistics are old, a scan of it looks
 * cheaper, and a prepared plan is kept while the table grows; compiling plans costs more than running them.
 */
export const CONNECTION_SETTINGS = 'SET enable_seqscan = off; SET jit = off'

/** `Row` says what the text selects: names as written there, JSON parsed, integers as numbers. */
export function defineStatement<Row>(name: string, text: string): Statement<Row> {
  return { name, text }
}

/** True when a write collided with this unique constraint: somebody else was first. */
export function isTaken(thrown: unknown, constraint: string): boolean {
  return sqlState(thrown) === '23505' && thrown instanceof Error && 'constraint' in thrown && thrown.constraint === constraint
}

/** True when PostgreSQL ended one of two writers that waited for each other; nothing of it was written. */
export function isDeadlock(thrown: unknown): boolean {
  return sqlState(thrown) === '40P01'
}

/** The SQLSTATE or system code of a driver's error; empty when it has none. */
export function sqlState(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : ''
}
