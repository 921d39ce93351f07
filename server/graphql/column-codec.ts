/** What columns hold that the database does not describe: our own statements wrote them, so they are trusted, and named here once. */
import type { Failure, Json } from '../errors.js'
import type { Event } from '../generated/prisma/client.js'
import type { RecordedEvent } from '../session/events.js'
import type { HistoryItem } from '../session/history.js'
import type { Principal } from '../session/principal.js'
import { NO_USAGE, type TokenUsage } from '../session/usage.js'

/** `{}` before anything was used. */
export function readUsage(column: unknown): TokenUsage {
  return { ...NO_USAGE, ...(column as Partial<TokenUsage>) }
}

export function readFailure(column: unknown): Failure | null {
  return column as Failure | null
}

export function readPrincipal(column: unknown): Principal {
  return column as Principal
}

export function readObject(column: unknown): { readonly [key: string]: Json } {
  return column as { readonly [key: string]: Json }
}

export function readHistoryItem(column: unknown): HistoryItem {
  return column as HistoryItem
}

export function readEvent(row: Event): RecordedEvent {
  const { sessionId, position, type, turnId, stepIndex, attempt, endsWrite, data, at } = row
  return { sessionId, position, type, turnId, stepIndex, attempt, endsWrite, data, at: at.getTime() } as RecordedEvent
}

/** Rows of a statement that selects all columns of a table, with their names as its model has them. */
export function readRows<Row>(rows: readonly Readonly<Record<string, unknown>>[]): readonly Row[] {
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([column, value]) => [toCamelCase(column), value])) as Row)
}

function toCamelCase(column: string): string {
  return column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
