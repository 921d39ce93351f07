/** The candidate that a mistyped name most likely meant, or null when none is near: at most a third of its letters differ. */
export function closestName(name: string, candidates: Iterable<string>): string | null {
  const wanted = name.slice(0, MAX_LENGTH).toLowerCase()
  let best: string | null = null
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.slice(0, MAX_LENGTH).toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Longer names are compared by their beginning: what a model writes has no bound. */
const MAX_LENGTH = 80

/** Letters to add, drop or replace; two neighbours that changed places count once (optimal string alignment). */
function editDistance(one: string, other: string): number {
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 0; i < one.length; i += 1) {
    const row = [i + 1]
    for (let j = 0; j < other.length; j += 1) {
      const replaced = (last[j] ?? 0) + (one[i] === other[j] ? 0 : 1)
      const swapped = i > 0 && j > 0 && one[i] === other[j - 1] && one[i - 1] === other[j] ? (beforeLast[j - 1] ?? 0) + 1 : Infinity
      row.push(Math.min(replaced, swapped, (last[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1))
    }
    beforeLast = last
    last = row
  }
  return last[other.length] ?? 0
}
