/**
 * A second connection that makes writers wait: it holds a session's head in an open transaction, and tells when they are all waiting
 * for it. What they then do was decided on rows that are newer than their statements.
 */
import pg from 'pg'
import type { SessionId } from '../../server/ids.js'

export interface BlockedConnection {
  /** Begins a transaction and locks the head. */
  lock(sessionId: SessionId): Promise<void>
  /** Runs SQL inside it. */
  run(sql: string, values?: readonly unknown[]): Promise<void>
  /** Resolves when this many other connections wait for a lock. */
  waiters(count: number): Promise<void>
  /** Breaks the connections that wait, from the server's side. */
  terminateWaiters(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  close(): Promise<void>
}

export async function openBlockedConnection(connectionString: string): Promise<BlockedConnection> {
  const [holder, watcher] = [new pg.Client({ connectionString }), new pg.Client({ connectionString })]
  await Promise.all([holder.connect(), watcher.connect()])
  const run = async (sql: string, values: readonly unknown[] = []): Promise<void> => {
    await holder.query(sql, [...values])
  }
  return {
    run,
    lock: async (sessionId) => {
      await run('BEGIN')
      await run('SELECT 1 FROM session_head WHERE session_id = $1 FOR UPDATE', [sessionId])
    },
    waiters: async (count) => {
      let waiting = 0
      while (waiting < count) waiting = await countWaiting(watcher)
    },
    terminateWaiters: async () => {
      await watcher.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${WAITING}`)
    },
    commit: () => run('COMMIT'),
    rollback: () => run('ROLLBACK'),
    close: async () => {
      await Promise.all([holder.end(), watcher.end()])
    },
  }
}

const WAITING = "datname = current_database() AND wait_event_type = 'Lock'"

async function countWaiting(watcher: pg.Client): Promise<number> {
  const found = await watcher.query<{ waiting: number }>(`SELECT count(*)::int AS waiting FROM pg_stat_activity WHERE ${WAITING}`)
  return found.rows[0]?.waiting ?? 0
}
