/**
 * What matters of a Redis server, asked on connections of its own that are closed at the end. It writes one key, which it removes, and
 * sends one message, both under a name that nobody else has.
 */
import { randomUUID } from 'node:crypto'
import { Cluster, Redis, type RedisOptions } from 'ioredis'
import type { Clock } from '../clock.js'
import { toMessage } from '../errors.js'
import type { ProcessPresence } from '../session/ports.js'
import { readProcesses } from './presence.js'
import { toNames } from './redis-commands.js'

export interface InspectRedisOptions {
  /** As for the coordinator: with `?cluster=true` a node of a Redis Cluster. */
  readonly url: string
  readonly prefix: string
  readonly clock: Clock
}
export type RedisFacts = UnreachableRedis | ReachedRedis
export interface UnreachableRedis {
  readonly kind: 'unreachable'
  /** ECONNREFUSED, WRONGPASS, …; empty when there is none. */
  readonly code: string
  readonly message: string
}
export interface ReachedRedis {
  readonly kind: 'reached'
  /** `redis`, `valkey`, or what else the server calls itself. */
  readonly server: string
  readonly version: string
  /** `master` or `slave`, as it says. */
  readonly role: string
  readonly memory: { readonly used: number; readonly limit: number; readonly policy: string }
  /** `addressed`: REDIS_URL says that it is one. */
  readonly cluster: { readonly isNode: boolean; readonly addressed: boolean }
  /** Of the quickest answer, milliseconds: how far away it is. */
  readonly roundTripMs: number
  /** Why something that the processes need does not work; null: it does. */
  readonly faults: { readonly write: string | null; readonly script: string | null; readonly message: string | null }
  readonly processes: readonly ProcessPresence[]
}

interface Connections {
  readonly node: Redis
  readonly subscriber: Redis
  readonly all: (Redis | Cluster)[]
}

const PINGS = 7
const MESSAGE_TIMEOUT_MS = 2000
const KEY_LIFE_MS = 10_000
const CONNECTION = {
  lazyConnect: true,
  retryStrategy: () => null,
  maxRetriesPerRequest: 0,
  connectTimeout: 3000,
  commandTimeout: 2000,
  // That it is still loading is an answer too.
  enableReadyCheck: false,
} satisfies RedisOptions

/** Never throws. */
export async function inspectRedis(options: InspectRedisOptions): Promise<RedisFacts> {
  const url = new URL(options.url)
  const addressed = url.searchParams.get('cluster') === 'true'
  url.searchParams.delete('cluster')
  const [node, subscriber] = [new Redis(url.href, CONNECTION), new Redis(url.href, CONNECTION)]
  const connections: Connections = { node, subscriber, all: [node, subscriber] }
  const faults: unknown[] = []
  for (const connection of connections.all) connection.on('error', (error: unknown) => faults.push(error))
  try {
    await Promise.all([node.connect(), subscriber.connect()])
    const info = parseInfo(await node.info())
    const isNode = info.get('cluster_enabled') === '1'
    const keys = addressed && isNode ? await openCluster(url, connections) : node
    return { ...toFacts(info), cluster: { isNode, addressed }, ...(await tryOut(connections, keys, options)) }
  } catch (thrown) {
    // That the connection is closed says less than what closed it.
    const cause = faults[0] ?? thrown
    return { kind: 'unreachable', code: codeOf(cause), message: toMessage(cause) }
  } finally {
    for (const connection of connections.all) connection.disconnect()
  }
}

async function openCluster(url: URL, { all }: Connections): Promise<Cluster> {
  const { hostname: host, port, username, password, protocol } = url
  const cluster = new Cluster([{ host, port: port === '' ? 6379 : Number(port) }], {
    lazyConnect: true,
    clusterRetryStrategy: () => null,
    redisOptions: {
      ...CONNECTION,
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
      ...(protocol === 'rediss:' && { tls: {} }),
    },
  })
  all.push(cluster)
  cluster.on('error', () => undefined)
  await cluster.connect()
  return cluster
}

function parseInfo(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name = '', value = '']) => [name, value]))
}

function toFacts(info: ReadonlyMap<string, string>): Omit<ReachedRedis, 'cluster' | 'roundTripMs' | 'faults' | 'processes'> {
  const read = (name: string): string => info.get(name) ?? ''
  const valkey = read('valkey_version')
  return {
    kind: 'reached',
    server: valkey === '' ? read('server_name') || 'redis' : 'valkey',
    version: valkey === '' ? read('redis_version') : valkey,
    role: read('role'),
    memory: { used: Number(read('used_memory')), limit: Number(read('maxmemory')), policy: read('maxmemory_policy') },
  }
}

/** Does what the processes do all the time, once. */
async function tryOut(
  { node, subscriber }: Connections,
  keys: Redis | Cluster,
  { prefix, clock }: InspectRedisOptions,
): Promise<Pick<ReachedRedis, 'roundTripMs' | 'faults' | 'processes'>> {
  const name = `{${prefix}}:doctor:${randomUUID()}`
  const roundTripMs = await measure(node, clock)
  const write = await faultOf(() => keys.set(name, '1', 'PX', KEY_LIFE_MS))
  const script = await faultOf(() => keys.eval("return redis.call('EXISTS', KEYS[1])", 1, name))
  if (write === null) await faultOf(() => keys.del(name))
  const message = await faultOf(() => sendToMyself(node, subscriber, { channel: name, clock }))
  const processes = await readProcesses(keys, toNames(prefix)).catch(() => [])
  return { roundTripMs, faults: { write, script, message }, processes }
}

async function measure(redis: Redis, clock: Clock): Promise<number> {
  const times: number[] = []
  for (let count = 0; count < PINGS; count += 1) {
    const sentAt = clock.monotonic()
    await faultOf(() => redis.ping())
    times.push(clock.monotonic() - sentAt)
  }
  return Math.min(...times)
}

async function sendToMyself(node: Redis, subscriber: Redis, how: { readonly channel: string; readonly clock: Clock }): Promise<void> {
  const { channel, clock } = how
  await subscriber.subscribe(channel)
  await new Promise<void>((resolve, reject) => {
    const cancel = clock.after(MESSAGE_TIMEOUT_MS, () => {
      reject(new Error('a message that was sent did not arrive'))
    })
    subscriber.on('message', () => {
      cancel()
      resolve()
    })
    node.publish(channel, '1').catch(reject)
  })
}

async function faultOf(work: () => Promise<unknown>): Promise<string | null> {
  try {
    await work()
    return null
  } catch (thrown) {
    return toMessage(thrown)
  }
}

/** Of the operating system, or the first word of what Redis answers. */
function codeOf(thrown: unknown): string {
  if (thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string') return thrown.code
  return /^([A-Z]{3,}) /.exec(toMessage(thrown))?.[1] ?? ''
}
