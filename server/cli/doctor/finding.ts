/** One line of what the doctor says. */
export interface Finding {
  /** What was looked at. */
  readonly name: string
  /** `warning`: works, and should be looked at. `broken`: does not work, or a promise does not hold. `skipped`: does not apply, or is not known. */
  readonly status: 'ok' | 'warning' | 'broken' | 'skipped'
  readonly detail: string
  /** What to do; null when there is nothing to do. */
  readonly mend: string | null
}
export type Problem = Pick<Finding, 'status' | 'detail' | 'mend'>

export function broken(detail: string, mend: string | null): Problem {
  return { status: 'broken', detail, mend }
}

export function warning(detail: string, mend: string): Problem {
  return { status: 'warning', detail, mend }
}

export function skipped(name: string, detail: string): Finding {
  return { name, status: 'skipped', detail, mend: null }
}

/** Each problem in a line of its own; without one the thing is fine. */
export function toFindings(name: string, fine: string, problems: readonly (Problem | null)[]): readonly Finding[] {
  const found = problems.flatMap((problem) => (problem === null ? [] : [{ name, ...problem }]))
  return found.length > 0 ? found : [{ name, status: 'ok', detail: fine, mend: null }]
}

export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`
}

export function lasting(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`
}
