/** Whether the database answers, for whoever asks and however often: they share one question, and its answer for a second. */
import type { Clock } from '../clock.js'

export interface DatabaseProbeOptions {
  /** One question to the database; `standby`: it only reads. */
  readonly ping: () => Promise<{ readonly standby: boolean }>
  readonly clock: Clock
}
export type DatabaseAnswer =
  | { readonly kind: 'answers'; readonly tookMs: number }
  | { readonly kind: 'standby' }
  | { readonly kind: 'late' }
  /** `code`: of the system or of PostgreSQL, such as ECONNREFUSED or 53300; null when there is none. */
  | { readonly kind: 'refused'; readonly code: string | null }

export const DATABASE_DEADLINE_MS = 2000
const FRESH_MS = 1000
const SYSTEM_CODE = /^(E[A-Z]+|[0-9A-Z]{5})$/

/** While a question hangs nobody asks another: it would hang as well, and take a connection. */
export class DatabaseProbe {
  readonly #options: DatabaseProbeOptions
  #answer: Promise<DatabaseAnswer> | null = null
  #isUnderWay = false
  #endedAt = -Infinity

  constructor(options: DatabaseProbeOptions) {
    this.#options = options
  }

  ask(): Promise<DatabaseAnswer> {
    const isFresh = this.#isUnderWay || this.#options.clock.monotonic() - this.#endedAt < FRESH_MS
    if (this.#answer === null || !isFresh) this.#answer = this.#withDeadline(this.#ping())
    return this.#answer
  }

  async #ping(): Promise<DatabaseAnswer> {
    const { ping, clock } = this.#options
    const startedAt = clock.monotonic()
    this.#isUnderWay = true
    try {
      const { standby } = await ping()
      return standby ? { kind: 'standby' } : { kind: 'answers', tookMs: clock.monotonic() - startedAt }
    } catch (thrown) {
      return { kind: 'refused', code: systemCode(thrown) }
    } finally {
      this.#isUnderWay = false
      this.#endedAt = clock.monotonic()
    }
  }

  async #withDeadline(answered: Promise<DatabaseAnswer>): Promise<DatabaseAnswer> {
    let cancel = (): void => undefined
    const late = new Promise<DatabaseAnswer>((resolve) => {
      cancel = this.#options.clock.after(DATABASE_DEADLINE_MS, () => {
        resolve({ kind: 'late' })
      })
    })
    const answer = await Promise.race([answered, late])
    cancel()
    return answer
  }
}

/** The code of the innermost cause. Messages name hosts and users; they are for the log. */
function systemCode(thrown: unknown): string | null {
  if (!(thrown instanceof Error)) return null
  const inner = systemCode(thrown.cause)
  if (inner !== null) return inner
  return 'code' in thrown && typeof thrown.code === 'string' && SYSTEM_CODE.test(thrown.code) ? thrown.code : null
}
