/**
 * The Database over the network: one pool of connections, which Prisma's adapter shares. Statements are prepared under their name
 * once per connection.
 */
import pg from 'pg'
import { OutcomeUnknown, toMessage } from '../errors.js'
import { CONNECTION_SETTINGS, sqlState, type Database, type Statement } from './database.js'
import { explainConnection } from './database-url.js'
import type { SqlValue } from './json-column.js'

const CONNECT_TIMEOUT_MS = 5_000
/** A reply that takes longer is lost: the peer may be gone without a word. */
const REPLY_TIMEOUT_MS = 20_000
/** SQLSTATE of a connection's or server's end, of a statement that was stopped, and of a deadlock: repeat it. */
const TRANSIENT = /^(08|57|53|40)/

/** The pool awaits what this answers before it hands the connection out, though its type does not say so. */
const HOOKS = { onConnect: (client: pg.ClientBase): Promise<unknown> => client.query(CONNECTION_SETTINGS) }

export interface PostgresOptions {
  readonly url: URL
  readonly poolSize: number
  /** Called when an idle connection breaks; the pool replaces it. */
  readonly onLost: (error: Error) => void
}
export interface Postgres extends Database {
  readonly pool: pg.Pool
}

/** Connects once, so that a wrong DATABASE_URL is told at the start. */
export async function openPostgres(options: PostgresOptions): Promise<Postgres> {
  const { url } = options
  const connectionUrl = new URL(url)
  connectionUrl.searchParams.delete('schema')
  const pool = new pg.Pool({
    connectionString: connectionUrl.href,
    max: options.poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'perdure',
    ...HOOKS,
  })
  pool.on('error', options.onLost)
  // While a connection is in use its break is told by the statement that it was used for; without a listener it would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))
  try {
    await pool.query('SELECT 1')
  } catch (thrown) {
    await pool.end()
    throw explainConnection(url, thrown)
  }
  return {
    kind: 'postgres',
    pool,
    query: (statement, values) => run(pool, statement, values),
    close: () => pool.end(),
  }
}

async function run<Row>(pool: pg.Pool, statement: Statement<Row>, values: readonly SqlValue[]): Promise<readonly Row[]> {
  const client = await pool.connect().catch((thrown: unknown) => {
    throw new OutcomeUnknown(`no connection to the database: ${toMessage(thrown)}`, { cause: thrown })
  })
  let broken = false
  try {
    const query = { name: statement.name, text: statement.text, values: [...values], query_timeout: REPLY_TIMEOUT_MS }
    const result = await client.query(query)
    return result.rows as readonly Row[]
  } catch (thrown) {
    const code = sqlState(thrown)
    broken = !/^[0-9A-Z]{5}$/.test(code) || /^(08|57)/.test(code)
    if (!broken && !TRANSIENT.test(code)) throw thrown
    throw new OutcomeUnknown(`the database did not answer ${statement.name}: ${toMessage(thrown)}`, { cause: thrown })
  } finally {
    client.release(broken)
  }
}
