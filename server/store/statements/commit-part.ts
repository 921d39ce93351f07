/** One of the common table expressions that make up a commit. */
import type { SafeText } from '../json-column.js'

export interface CommitPart {
  /** One letter, unique among the parts. */
  readonly letter: string
  readonly sql: (parameter: string) => string
  readonly value: SafeText
}
