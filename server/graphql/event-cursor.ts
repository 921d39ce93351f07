/** The cursor of an event is its position. Clients treat it as opaque. */
export function toCursor(position: number): string {
  return String(position)
}

/** Null when no event ever has this cursor. */
export function parseCursor(cursor: string): number | null {
  return /^(0|[1-9]\d{0,8})$/.test(cursor) ? Number(cursor) : null
}
