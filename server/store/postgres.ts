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
/** Connections that stay open while nothing happens: a new one plans every statement anew, which costs its first turns many times their own. */
const WARM_CONNECTIONS = 2
/** Prisma's reads: a reply that takes longer is lost. */
const READ_TIMEOUT_MS = 20_000
/** SQLSTATE of a connection's or server's end, of a statement that was stopped, and of a deadlock: repeat it. */
const TRANSIENT = /^(08|57|53|40)/

/** The pool awaits what this answers before it hands the connection out, though its type does not say so. */
const HOOKS = { onConnect: (client: pg.ClientBase): Promise<unknown> => client.query(CONNECTION_SETTINGS) }

export interface PostgresOptions {
  readonly url: URL
  readonly poolSize: number
  /** A reply to a statement that takes longer is lost: the peer may be gone without a word. Well below a lease's life. */
  readonly replyTimeoutMs: number
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
    min: Math.min(WARM_CONNECTIONS, options.poolSize),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: READ_TIMEOUT_MS,
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
  const connections = new TrustedConnections(pool)
  return {
    kind: 'postgres',
    pool,
    query: (statement, values) => run(connections, options.replyTimeoutMs, statement, values),
    close: () => pool.end(),
  }
}

/**
 * Connections that answered lately. When one falls silent (a firewall forgot it, the server is gone) its neighbours that were idle
 * meanwhile are as dead: each would cost a timeout of its own, and all of them together a lease.
 */
class TrustedConnections {
  readonly #pool: pg.Pool
  readonly #answeredIn = new WeakMap<pg.PoolClient, number>()
  /** Counts silences. */
  #era = 0

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** A new one, or one that has answered since the last silence. */
  async take(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#pool.connect()
      if ((this.#answeredIn.get(client) ?? this.#era) === this.#era) return client
      client.release(true)
    }
  }

  answered(client: pg.PoolClient): void {
    this.#answeredIn.set(client, this.#era)
  }

  fellSilent(): void {
    this.#era += 1
  }
}

async function run<Row>(
  connections: TrustedConnections,
  replyTimeoutMs: number,
  statement: Statement<Row>,
  values: readonly SqlValue[],
): Promise<readonly Row[]> {
  const client = await connections.take().catch((thrown: unknown) => {
    throw new OutcomeUnknown(`no connection to the database: ${toMessage(thrown)}`, { cause: thrown })
  })
  let broken = false
  try {
    const query = { name: statement.name, text: statement.text, values: [...values], query_timeout: replyTimeoutMs }
    const result = await client.query(query)
    connections.answered(client)
    return result.rows as readonly Row[]
  } catch (thrown) {
    const code = sqlState(thrown)
    broken = !/^[0-9A-Z]{5}$/.test(code) || /^(08|57)/.test(code)
    if (broken) connections.fellSilent()
    else connections.answered(client)
    if (!broken && !TRANSIENT.test(code)) throw thrown
    throw new OutcomeUnknown(`the database did not answer ${statement.name}: ${toMessage(thrown)}`, { cause: thrown })
  } finally {
    client.release(broken)
  }
}
