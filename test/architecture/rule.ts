/** A rule of this codebase. `check` answers one line for each place that breaks it. */
export interface Rule {
  readonly rule: string
  readonly why: string
  readonly mend: string
  readonly check: () => readonly string[]
}

/** Fails with everything that a person needs to put it right. */
export function hold({ rule, why, mend, check }: Rule): void {
  const broken = check()
  if (broken.length === 0) return
  throw new Error(`${rule}\nWhy:  ${why}\nMend: ${mend}\n${broken.map((line) => `  - ${line}`).join('\n')}`)
}
