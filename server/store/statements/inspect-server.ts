/**
 * inspect-server: what matters of a database server and its settings, as this user has them.
 * In: nothing. Out: one row.
 */
import { defineStatement, type Database } from '../database.js'

export interface ServerFacts {
  /** As PostgreSQL numbers them: 150020. */
  readonly versionNumber: number
  readonly version: string
  readonly encoding: string
  readonly fsync: boolean
  readonly fullPageWrites: boolean
  readonly synchronousCommit: string
  readonly isolation: string
  readonly standby: boolean
  readonly readOnly: boolean
  /** The user may make tables in the schema public. */
  readonly mayCreate: boolean
  /** Connections that this user may have in this database, were there no others. */
  readonly connections: number
  /** Connections to the server that are not Perdure's, and those that are; this one is neither. */
  readonly others: number
  readonly ours: number
}

const INSPECT = defineStatement<ServerFacts>(
  'inspect-server',
  `WITH activity AS (
  SELECT count(*) FILTER (WHERE application_name = 'perdure' AND datname = current_database())::int AS ours, count(*)::int AS total
  FROM pg_stat_activity WHERE datname IS NOT NULL AND pid <> pg_backend_pid()
)
SELECT current_setting('server_version_num')::int AS "versionNumber", split_part(current_setting('server_version'), ' ', 1) AS version,
  current_setting('server_encoding') AS encoding, current_setting('fsync')::bool AS fsync,
  current_setting('full_page_writes')::bool AS "fullPageWrites", current_setting('synchronous_commit') AS "synchronousCommit",
  current_setting('default_transaction_isolation') AS isolation, pg_is_in_recovery() AS standby,
  current_setting('transaction_read_only')::bool AS "readOnly",
  has_schema_privilege('public', 'CREATE') AS "mayCreate", activity.ours, activity.total - activity.ours AS others,
  LEAST(
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - COALESCE(current_setting('reserved_connections', true)::int, 0),
    (SELECT NULLIF(datconnlimit, -1) FROM pg_database WHERE datname = current_database()),
    (SELECT NULLIF(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user)
  ) AS connections
FROM activity`,
)

export async function inspectServer(database: Database): Promise<ServerFacts> {
  const [facts] = await database.query(INSPECT, [])
  if (facts === undefined) throw new Error('the database says nothing of itself')
  return facts
}
