/**
 * Whether a process should get work: requests, or sessions to drive. Anybody may ask, so an answer holds codes and figures, and no
 * address, name or text of a session.
 */
import type { Clock } from '../clock.js'
import type { CoordinatorHealth } from '../session/ports.js'
import { DATABASE_DEADLINE_MS, DatabaseProbe, type DatabaseAnswer, type DatabaseProbeOptions } from './database-probe.js'

export interface ReadinessOptions {
  readonly clock: Clock
  /** True from the moment that the process was told to stop, before anything else stops. */
  readonly isStopping: () => boolean
  readonly pingDatabase: DatabaseProbeOptions['ping']
  readonly coordination: () => CoordinatorHealth
  /** Null: this process drives no sessions. */
  readonly polls: { readonly intervalMs: number; readonly ageMs: () => number } | null
}
/** `degraded` works, if worse; `failed` makes the process unready. */
export interface Check {
  readonly status: 'ok' | 'degraded' | 'failed'
  readonly detail: string
  /** What to do about it; null when it is fine. */
  readonly mend: string | null
}
export interface Readiness {
  readonly ready: boolean
  readonly checks: Readonly<Record<string, Check>>
}

/** Beyond three intervals a look may be this late: it waits for a slow database as long as its own timeouts let it. */
const POLL_PATIENCE_MS = 10_000

export function createReadiness(options: ReadinessOptions): () => Promise<Readiness> {
  const { clock, isStopping, pingDatabase, coordination, polls } = options
  const database = new DatabaseProbe({ ping: pingDatabase, clock })
  return async () => {
    if (isStopping()) return toReadiness({ process: failed('it stops', 'send requests elsewhere; sessions go on in other processes') })
    const answer = await database.ask()
    const { kind, fault } = coordination()
    return toReadiness({
      process: isStopping() ? failed('it stops', 'send requests elsewhere') : ok('it runs'),
      database: checkDatabase(answer),
      ...(kind === 'redis' && { redis: checkRedis(fault) }),
      ...(polls !== null && { polling: checkPolling(polls.ageMs(), polls.intervalMs) }),
    })
  }
}

function toReadiness(checks: Readiness['checks']): Readiness {
  return { ready: Object.values(checks).every(({ status }) => status !== 'failed'), checks }
}

function checkDatabase(answer: DatabaseAnswer): Check {
  const look = 'see the process log, or run perdure doctor'
  switch (answer.kind) {
    case 'answers':
      return ok(`answers in ${answer.tookMs.toFixed(1)} ms`)
    case 'standby':
      return failed('it is a standby, which only reads', 'let DATABASE_URL lead to the primary')
    case 'late':
      return failed(`no answer within ${DATABASE_DEADLINE_MS / 1000} s`, look)
    case 'refused':
      return failed(`no answer${answer.code === null ? '' : ` (${answer.code})`}`, look)
  }
}

/** Sessions are found in the database meanwhile, so this is no reason to take the process away. */
function checkRedis(fault: string | null): Check {
  if (fault === null) return ok('answers')
  return { status: 'degraded', detail: 'of no use; sessions are found in the database', mend: 'see the process log, or run perdure doctor' }
}

function checkPolling(ageMs: number, intervalMs: number): Check {
  const detail = `looked for due sessions ${(ageMs / 1000).toFixed(1)} s ago`
  if (ageMs <= 3 * intervalMs + POLL_PATIENCE_MS) return ok(detail)
  return failed(detail, 'if the database answers, this process hangs: see its log, then restart it')
}

function ok(detail: string): Check {
  return { status: 'ok', detail, mend: null }
}

function failed(detail: string, mend: string): Check {
  return { status: 'failed', detail, mend }
}
