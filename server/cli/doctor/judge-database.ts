/** The database: whether it can be used, whether it keeps what it acknowledged, whether there is room, whether the clocks agree. */
import type { DatabaseFacts, Fault, OpenedDatabase } from '../../inspect.js'
import { broken, counted, skipped, toFindings, warning, type Finding, type Problem } from './finding.js'

export interface DatabasePlace {
  /** Address without password, or folder. */
  readonly location: string
  readonly database: string
  /** Processes that are there; null: not known. */
  readonly processes: number | null
  /** What one process opens at most. */
  readonly poolSize: number
}

type Server = OpenedDatabase['server']

const OLDEST_TESTED = { number: 150_000, name: '15' } as const
const SLOW_MS = 20
const AHEAD_MS = 1000

export function judgeDatabase(facts: DatabaseFacts, place: DatabasePlace): readonly Finding[] {
  const { location } = place
  switch (facts.kind) {
    case 'faulty':
      return [{ name: 'Database', status: 'broken', detail: facts.fault.message, mend: facts.fault.hint }]
    case 'absent':
      return [{ name: 'Database', status: 'ok', detail: `embedded, in ${location}: the first start makes it`, mend: null }]
    case 'held':
      return toFindings('Database', `embedded: ${facts.message.replace(/\.$/, '')}, as it should be while a server runs`, [])
    case 'open':
      return facts.engine === 'embedded' ? judgeEmbedded(facts, place) : judgePostgres(facts, place)
  }
}

function judgeEmbedded({ server, migrations }: OpenedDatabase, { location }: DatabasePlace): readonly Finding[] {
  return [
    ...toFindings('Database', `embedded, PostgreSQL ${server.version}   ${location}`, []),
    ...judgeMigrations(migrations, server),
    skipped('Durability', 'embedded: outlives a killed process, not a power cut; set DATABASE_URL for that'),
  ]
}

function judgePostgres({ server, clock, migrations }: OpenedDatabase, place: DatabasePlace): readonly Finding[] {
  const { version } = server
  const fine = `PostgreSQL ${version}, answers in ${clock.roundTripMs.toFixed(1)} ms   ${place.location}`
  return [
    ...toFindings('Database', fine, [
      ...unusable(server, place.database),
      server.versionNumber < OLDEST_TESTED.number
        ? warning(`PostgreSQL ${version} is older than what Perdure is tested with`, `upgrade to ${OLDEST_TESTED.name} or newer`)
        : null,
      clock.roundTripMs > SLOW_MS
        ? warning(
            `an answer takes ${clock.roundTripMs.toFixed(0)} ms, and a turn needs four or more`,
            'run the processes near the database',
          )
        : null,
    ]),
    ...judgeMigrations(migrations, server),
    ...judgeDurability(server, place.database),
    ...judgeConnections(server, place),
    ...judgeClock(clock.aheadMs),
  ]
}

function unusable({ standby, readOnly, encoding, isolation }: Server, database: string): readonly (Problem | null)[] {
  const set = `ALTER DATABASE ${database} SET`
  return [
    standby ? broken('it is a standby, which only reads', 'let DATABASE_URL lead to the primary') : null,
    readOnly && !standby ? broken('transactions only read', `${set} default_transaction_read_only = off, or the same for the user`) : null,
    encoding === 'UTF8' ? null : broken(`its encoding is ${encoding}`, `createdb --encoding=UTF8 --template=template0 ${database}`),
    isolation === 'read committed'
      ? null
      : broken(
          `transactions are ${isolation}, under which writers that wait fail`,
          `${set} default_transaction_isolation = 'read committed'`,
        ),
  ]
}

function judgeMigrations(migrations: OpenedDatabase['migrations'], { mayCreate }: Server): readonly Finding[] {
  return toFindings('Migrations', 'all applied', [
    isFault(migrations) ? broken(migrations.message, migrations.hint) : pending(migrations.missing, mayCreate),
  ])
}

function isFault(migrations: OpenedDatabase['migrations']): migrations is Fault {
  return 'message' in migrations
}

function pending(missing: readonly string[], mayCreate: boolean): Problem | null {
  if (missing.length === 0) return null
  const detail = `${counted(missing.length, 'migration')} to apply: ${missing.join(', ')}`
  if (mayCreate) return warning(detail, 'perdure migrate; perdure start does it too')
  return broken(`${detail}; the user may make no tables`, 'GRANT CREATE ON SCHEMA public TO that user, or run perdure migrate as the owner')
}

function judgeDurability({ fsync, fullPageWrites, synchronousCommit }: Server, database: string): readonly Finding[] {
  const restart = 'in postgresql.conf, then reload it'
  return toFindings('Durability', `fsync on, synchronous_commit ${synchronousCommit}`, [
    fsync ? null : broken('fsync is off: a power cut can ruin the database', `fsync = on ${restart}`),
    fullPageWrites ? null : broken('full_page_writes is off: a power cut can ruin the database', `full_page_writes = on ${restart}`),
    synchronousCommit === 'off'
      ? warning(
          'synchronous_commit is off: a crash of the server loses what it acknowledged in its last moment',
          `ALTER DATABASE ${database} SET synchronous_commit = on`,
        )
      : null,
  ])
}

function judgeConnections({ connections, others, ours }: Server, { processes, poolSize }: DatabasePlace): readonly Finding[] {
  const needed = processes === null ? Math.max(ours, poolSize) : Math.max(processes, 1) * poolSize
  const who = processes === null ? 'a process' : counted(Math.max(processes, 1), 'process', 'processes')
  const fine = `room for ${connections}; ${who} may use ${needed}, others use ${others} now`
  const isTight = needed + others > connections
  return toFindings('Connections', fine, [
    isTight ? warning(fine, 'raise max_connections, lower PERDURE_POOL_SIZE, or run fewer processes') : null,
  ])
}

function judgeClock(aheadMs: number): readonly Finding[] {
  const size = Math.abs(aheadMs)
  if (!(size > AHEAD_MS)) return toFindings('Clock', `differs from the database's by ${size.toFixed(0)} ms`, [])
  const detail = `this machine is ${(size / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database`
  return toFindings('Clock', detail, [
    warning(detail, 'let a time server set both: sessions go by the database, the log of this machine does not'),
  ])
}
