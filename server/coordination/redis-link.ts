/**
 * The two connections of a process to Redis, one of them for what it hears, and whether they work.
 *
 * Redis holds no truth (R5), so nothing waits for it: a command that fails for whatever reason (closed, silent, out of memory, read-only)
 * makes it count as away, and from then on nothing is asked of it but the beat that finds it again.
 */
import { Redis, type RedisOptions } from 'ioredis'
import type { Meter } from '../session/meter.js'
import type { Log } from '../session/ports.js'
import { connectorToOwner, type Node } from './cluster-owner.js'
import { Outage } from './outage.js'
import { parseRedisUrl } from './redis-address.js'

export interface RedisLinkOptions {
  readonly url: string
  /** A key of those that are asked for: in a cluster they all live where it lives. */
  readonly key: string
  readonly log: Log
  readonly meter: Pick<Meter, 'coordinationFailed'>
  /** Called when one of the connections begins to work, or does not work any more. */
  readonly onChange: () => void
  readonly onMessage: (channel: string, message: string) => void
  /** Called when a connection is there (again): `subscriber` has no subscriptions. */
  readonly onReady: (connection: Connection) => void
}
export type Connection = 'commands' | 'subscriber'
/** Null when Redis is away or did not do it. */
export type Answer<Value> = { readonly value: Value } | null

/** An answer that takes longer is worth less than a look into the database. */
const COMMAND_TIMEOUT_MS = 1000
const CONNECT_TIMEOUT_MS = 2000
/** What a connection gets to say goodbye that may be silent. */
const DISCONNECT_TIMEOUT_MS = 100
/** Between two attempts to connect, milliseconds: doubling. */
const RETRY_MS = { first: 50, longest: 1000 } as const

const SETTINGS = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  maxRetriesPerRequest: 0,
  commandTimeout: COMMAND_TIMEOUT_MS,
  connectTimeout: CONNECT_TIMEOUT_MS,
  disconnectTimeout: DISCONNECT_TIMEOUT_MS,
  // One that is still loading says so to the beat.
  enableReadyCheck: false,
  disableClientInfo: true,
  retryStrategy: (attempt: number) => Math.min(RETRY_MS.first * 2 ** Math.min(attempt, 10), RETRY_MS.longest),
} satisfies RedisOptions

export class RedisLink {
  readonly commands: Redis
  readonly subscriber: Redis
  readonly #options: RedisLinkOptions
  readonly #outage: Outage
  readonly #faults: Record<Connection, string | null> = { commands: 'not connected yet', subscriber: 'not connected yet' }
  readonly #underWay = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(options: RedisLinkOptions) {
    this.#options = options
    const address = parseRedisUrl(options.url)
    const settings = { ...SETTINGS, ...address.access }
    const openTo = (node: Node): Redis => new Redis({ ...settings, ...node, retryStrategy: () => null })
    const owner = { address, key: options.key, openTo, disconnectTimeoutMs: DISCONNECT_TIMEOUT_MS }
    const where = address.isCluster ? { Connector: connectorToOwner(owner) } : { host: address.host, port: address.port }
    const connect = (): Redis => new Redis({ ...settings, ...where })
    this.#outage = new Outage(options.log, address.shown)
    this.commands = connect()
    this.subscriber = connect()
    this.#listen('commands')
    this.#listen('subscriber')
    this.subscriber.on('message', (channel: string, message: string) => options.onMessage(channel, message))
  }

  /** Commands are not served. */
  get isAway(): boolean {
    return this.#faults.commands !== null
  }

  /** Why it does not work, or not all of it; null: it does. */
  get fault(): string | null {
    return this.#faults.commands ?? this.#faults.subscriber
  }

  /** Begins to connect, and goes on by itself. */
  open(): void {
    // What went wrong is told by the event `close`.
    for (const connection of [this.commands, this.subscriber]) connection.connect().catch(() => undefined)
  }

  ask<Value>(command: () => Promise<Value>): Promise<Answer<Value>> {
    if (!this.isAway) return this.#run(command)
    if (!this.#isClosed) this.#options.meter.coordinationFailed()
    return Promise.resolve(null)
  }

  /** As `ask`, also while it is away: its success is how Redis is found again. */
  async probe<Value>(command: () => Promise<Value>): Promise<Answer<Value>> {
    if (this.commands.status !== 'ready') return null
    const answer = await this.#run(command)
    if (answer !== null) this.#recover('commands')
    return answer
  }

  /** Something that was published to this process is heard. */
  hear(): void {
    this.#recover('subscriber')
    if (this.fault === null) this.#outage.hearSignOfLife()
  }

  /** A connection does not do what it is for. */
  fail(name: Connection, thrown: unknown): void {
    if (this.#isClosed) return
    const before = this.#faults[name]
    const fault = explain(thrown) ?? before ?? 'the connection was closed'
    this.#faults[name] = fault
    this.#outage.begin(fault)
    if (before === null) this.#options.onChange()
  }

  /** Makes a new connection in place of one that is open and does not do what it is for. */
  renew(name: Connection): void {
    if (this[name].status === 'ready') this[name].disconnect(true)
  }

  /** Waits for what is under way, and what follows from it. */
  async close(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
    this.#isClosed = true
    this.#faults.commands = 'closed'
    this.commands.disconnect()
    this.subscriber.disconnect()
  }

  #listen(name: Connection): void {
    const connection = this[name]
    let complaint: unknown = null
    connection.on('error', (error: unknown) => (complaint = error))
    connection.on('ready', () => {
      complaint = null
      this.#options.onReady(name)
    })
    connection.on('close', () => this.fail(name, complaint))
  }

  #run<Value>(command: () => Promise<Value>): Promise<Answer<Value>> {
    const answer = this.#try(command).finally(() => this.#underWay.delete(answer))
    this.#underWay.add(answer)
    return answer
  }

  async #try<Value>(command: () => Promise<Value>): Promise<Answer<Value>> {
    try {
      return { value: await command() }
    } catch (thrown) {
      if (this.#isClosed) return null
      this.#options.meter.coordinationFailed()
      this.fail('commands', thrown)
      return null
    }
  }

  #recover(name: Connection): void {
    if (this.#isClosed || this.#faults[name] === null) return
    this.#faults[name] = null
    this.#options.onChange()
  }
}

/** For people; null when it says no more than that the connection is closed. */
function explain(thrown: unknown): string | null {
  if (!(thrown instanceof Error)) return null
  const { message } = thrown
  if (message.startsWith('MOVED')) return 'its keys are on another node of the cluster; REDIS_URL has to say ?cluster=true'
  if (message.startsWith('NOAUTH')) return 'it wants a password, and REDIS_URL has none'
  if (message.startsWith('Command timed out')) return `it did not answer within ${COMMAND_TIMEOUT_MS} ms`
  if (/^(Stream isn't writeable|Connection is closed|Reached the max retries)/.test(message)) return null
  // Where in a script it happened is of no use to whoever runs Redis; some faults of the system have no text but a code.
  return message.replace(/ script: [0-9a-f]+, on @.*$/, '') || ('code' in thrown ? String(thrown.code) : thrown.name)
}
