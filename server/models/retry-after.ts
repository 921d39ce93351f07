/**
 * How long a provider asks to wait, in milliseconds; null when it does not say, or says nothing that can be read.
 * `retry-after-ms` (OpenAI, Azure) is the more exact one and wins. `Retry-After` is seconds or an HTTP date (RFC 9110, 10.2.3); a date
 * is read against the `Date` of the same answer when there is one, so that a wrong clock of ours does not matter.
 */
export function retryAfterMs(headers: Headers, now: number): number | null {
  const exact = toCount(headers.get('retry-after-ms'))
  if (exact !== null) return Math.round(exact)
  const header = headers.get('retry-after')
  const seconds = toCount(header)
  if (seconds !== null) return Math.round(seconds * 1000)
  const until = toDate(header)
  if (until === null) return null
  return Math.max(0, until - (toDate(headers.get('date')) ?? now))
}

function toCount(text: string | null): number | null {
  return text !== null && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : null
}

function toDate(text: string | null): number | null {
  const date = text !== null && text.trimEnd().endsWith('GMT') ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? null : date
}
