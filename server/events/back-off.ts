const FIRST_MS = 100
const LONGEST_MS = 2_000

/** How long to wait before the database is asked again, after that many failures in a row (1, 2, …): 100 ms, doubling, up to 2 s. */
export function backOffMs(failures: number): number {
  return Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 10), LONGEST_MS)
}
