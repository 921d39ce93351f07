/** What columns hold that the database does not describe: our own statements wrote them, so they are trusted, and named here once. */
import type { Failure, Json } from '../errors.js'
import type { Event, Prisma, Request as RequestRow } from '../generated/prisma/client.js'
import type { AnswersContent, DeliveryContent } from '../session/deliveries.js'
import type { RecordedEvent } from '../session/events.js'
import type { HistoryItem } from '../session/history.js'
import type { Principal } from '../session/principal.js'
import type { RecordedAnswer, Request } from '../session/requests.js'
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

/** What belongs to the kind of a request, and whom its turn serves. */
export type RequestDetails = Pick<Request, 'options' | 'minSelections' | 'maxSelections' | 'allowsText' | 'url' | 'served'>

export function readDetails({ details }: Pick<RequestRow, 'details'>): RequestDetails {
  return details as unknown as RequestDetails
}

export function readAnswer(column: unknown): RecordedAnswer | null {
  return column as RecordedAnswer | null
}

/** Of a delivery of kind ANSWERS. */
export function readAnswers(content: unknown): AnswersContent['answers'] {
  return (content as AnswersContent).answers
}

/** The content of a delivery as its column will have it. */
export function toContentColumn(content: DeliveryContent): Prisma.JsonValue {
  return { ...content } as unknown as Prisma.JsonValue
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
