/**
 * The two connections of a process to Redis, one of them for what it hears, and whether they work.
 *
 * Redis holds no truth (R5), so nothing waits for it: while it is away nothing is asked of it but the beat that finds it again, and a
 * command that fails for whatever reason (closed, silent, out of memory, read-only) makes it count as away. An outage is told once.
 */
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { toMessage } from '../errors.js'
import type { Meter } from '../session/meter.js'
import type { Log } from '../session/ports.js'

export interface RedisLinkOptions {
  readonly url: string
  readonly log: Log
  readonly meter: Pick<Meter, 'coordinationFailed'>
  /** Called when it works again, or for the first time. */
  readonly onUp: () => void
  readonly onMessage: (channel: string, message: string) => void
  /** Called when a connection is there (again): `subscriber` has lost its subscriptions. */
  readonly onReady: (connection: 'commands' | 'subscriber') => void
}

/** An answer that takes longer is worth less than a look into the database. */
const COMMAND_TIMEOUT_MS = 1000
const CONNECT_TIMEOUT_MS = 2000
/** Between two attempts to connect, milliseconds: doubling. */
const RETRY_MS = { first: 50, longest: 1000 } as const
/** After that many silent commands in a row the connection is dead, whatever the operating system says. */
const MAX_SILENCES = 2

const CONNECTION = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  commandTimeout: COMMAND_TIMEOUT_MS,
  connectTimeout: CONNECT_TIMEOUT_MS,
  disconnectTimeout: CONNECT_TIMEOUT_MS,
  retryStrategy: (attempt: number) => Math.min(RETRY_MS.first * 2 ** Math.min(attempt, 10), RETRY_MS.longest),
  // A replica that was a master: the name may lead to the new one by now.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions

export class RedisLink {
  readonly commands: Redis | Cluster
  readonly subscriber: Redis | Cluster
  readonly #options: RedisLinkOptions
  readonly #location: string
  #fault: string | null = 'not connected yet'
  #wasTold = false
  #silences = 0
  #isClosed = false

  constructor(options: RedisLinkOptions) {
    this.#options = options
    const { url, isCluster } = parseRedisUrl(options.url)
    this.#location = withoutPassword(url)
    const connect = (): Redis | Cluster => (isCluster ? openCluster(url) : new Redis(url.href, CONNECTION))
    this.commands = connect()
    this.subscriber = connect()
    this.#listen('commands')
    this.#listen('subscriber')
    this.subscriber.on('message', (channel: string, message: string) => options.onMessage(channel, message))
  }

  /** Why it does not work; null: it does. */
  get fault(): string | null {
    return this.#fault
  }

  /** Begins to connect, and goes on by itself. */
  open(): void {
    for (const connection of [this.commands, this.subscriber]) connection.connect().catch((thrown: unknown) => this.#fail(thrown))
  }

  /** Null when Redis is away or did not do it. */
  async ask<Value>(command: () => Promise<Value>): Promise<{ readonly value: Value } | null> {
    return this.#fault === null ? this.probe(command) : null
  }

  /** As `ask`, also while it counts as away: its success is how Redis is found again. */
  async probe<Value>(command: () => Promise<Value>): Promise<{ readonly value: Value } | null> {
    if (this.#isClosed) return null
    try {
      const value = await command()
      this.#recover()
      return { value }
    } catch (thrown) {
      this.#fail(thrown)
      return null
    }
  }

  /** It is connected and yet nothing is heard on it: makes a new connection. */
  replaceSubscriber(): void {
    this.subscriber.disconnect(true)
  }

  close(): void {
    this.#isClosed = true
    this.commands.disconnect()
    this.subscriber.disconnect()
  }

  #listen(name: 'commands' | 'subscriber'): void {
    const connection = this[name]
    let reason: unknown = new Error('the connection was closed')
    connection.on('error', (error: unknown) => (reason = error))
    connection.on('ready', () => this.#options.onReady(name))
    connection.on('close', () => {
      if (name === 'commands') this.#fail(reason)
    })
  }

  #recover(): void {
    this.#silences = 0
    if (this.#fault === null || this.#isClosed) return
    this.#fault = null
    if (this.#wasTold) this.#options.log.info('Redis answers again', { redis: this.#location })
    this.#wasTold = false
    this.#options.onUp()
  }

  #fail(thrown: unknown): void {
    if (this.#isClosed) return
    const { log, meter } = this.#options
    meter.coordinationFailed()
    this.#fault = explain(thrown)
    if (!this.#wasTold)
      log.warn(`Redis is not of use: ${this.#fault}; sessions are found in the database until it is`, { redis: this.#location })
    this.#wasTold = true
    if (!isSilence(thrown)) return
    this.#silences += 1
    if (this.#silences % MAX_SILENCES === 0) this.commands.disconnect(true)
  }
}

/** `?cluster=true` makes the address one node of a Redis Cluster, which tells of the others. */
function parseRedisUrl(text: string): { readonly url: URL; readonly isCluster: boolean } {
  const url = new URL(text)
  const isCluster = url.searchParams.get('cluster') === 'true'
  url.searchParams.delete('cluster')
  return { url, isCluster }
}

function openCluster(url: URL): Cluster {
  const { hostname: host, port, username, password, protocol } = url
  return new Cluster([{ host, port: port === '' ? 6379 : Number(port) }], {
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: (attempt) => Math.min(RETRY_MS.first * 2 ** Math.min(attempt, 10), RETRY_MS.longest),
    redisOptions: {
      ...CONNECTION,
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  })
}

function isSilence(thrown: unknown): boolean {
  return toMessage(thrown).includes('timed out')
}

function explain(thrown: unknown): string {
  const message = toMessage(thrown)
  return message.startsWith('MOVED') ? 'it is a node of a cluster; add ?cluster=true to REDIS_URL' : message
}

export function withoutPassword(url: URL): string {
  const shown = new URL(url)
  if (shown.password !== '') shown.password = '***'
  return shown.href
}
