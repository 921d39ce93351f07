import { expect, test } from 'vitest'
import { retryAfterMs } from '../../server/models/retry-after.js'

const NOW = Date.parse('Wed, 21 Oct 2026 07:28:00 GMT')

test.each([
  [{}, null],
  [{ 'retry-after': '2' }, 2000],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after': '1.5' }, 1500],
  [{ 'retry-after-ms': '250' }, 250],
  [{ 'retry-after-ms': '250', 'retry-after': '9' }, 250],
  [{ 'retry-after-ms': 'soon', 'retry-after': '9' }, 9000],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT' }, 30_000],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:27:00 GMT' }, 0],
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT', date: 'Wed, 21 Oct 2026 07:28:20 GMT' }, 10_000],
  [{ 'retry-after': 'in a while' }, null],
  [{ 'retry-after': '-5' }, null],
  [{ 'retry-after': '' }, null],
] as const)('%j asks to wait %s ms', (headers, expected) => {
  expect(retryAfterMs(new Headers(headers), NOW)).toBe(expected)
})
