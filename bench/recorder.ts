/** A Database that remembers, when it is asked to, what went through it. */
import { systemClock } from '../server/clock.js'
import type { Database, Statement } from '../server/store/database.js'
import type { SqlValue } from '../server/store/json-column.js'

export interface Sent {
  readonly statement: Statement<unknown>
  readonly values: readonly SqlValue[]
  readonly rows: number
  readonly ms: number
}

export interface Recorder {
  readonly database: Database
  /** What is sent from now on, in the order of the answers, until the next call; the answer holds what was sent since the last one. */
  take(): readonly Sent[]
  stop(): void
}

/** Statements that are sent for all sessions together, whenever it is time. */
const BACKGROUND: ReadonlySet<string> = new Set(['sweep', 'renew', 'read-tails'])

export function createRecorder(inner: Database): Recorder {
  let sent: Sent[] | null = null
  return {
    database: {
      kind: inner.kind,
      close: () => inner.close(),
      async query<Row>(statement: Statement<Row>, values: readonly SqlValue[]) {
        if (sent === null || BACKGROUND.has(statement.name)) return inner.query(statement, values)
        const into = sent
        const started = systemClock.monotonic()
        const rows = await inner.query(statement, values)
        into.push({ statement, values, rows: rows.length, ms: systemClock.monotonic() - started })
        return rows
      },
    },
    take() {
      const taken = sent ?? []
      sent = []
      return taken
    },
    stop() {
      sent = null
    },
  }
}

export function isCommit({ statement }: Sent): boolean {
  return statement.name.startsWith('commit-')
}
