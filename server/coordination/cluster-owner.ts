/**
 * In a Redis Cluster: connects to the node that owns a key. All keys of the queue share one slot, so that node has everything that a
 * process asks for, and whoever listens there is counted by the PUBLISH of the scripts. A slot that has moved is found by connecting
 * again.
 */
import { connect as connectPlain } from 'node:net'
import { connect as connectEncrypted } from 'node:tls'
import { AbstractConnector, type Redis, type RedisOptions } from 'ioredis'
import type { RedisAddress } from './redis-address.js'

export interface Node {
  readonly host: string
  readonly port: number
}
interface Range {
  readonly first: number
  readonly last: number
  /** The owner, then its replicas. */
  readonly nodes: readonly Node[]
}

/** Nodes that are asked where the key lives, all at once. */
const MAX_ASKED = 5

export interface OwnerOptions {
  readonly address: RedisAddress
  readonly key: string
  /** Makes a connection to a node that does not connect by itself, nor again. */
  readonly openTo: (node: Node) => Redis
  readonly disconnectTimeoutMs: number
}

/** For the option `Connector` of ioredis. */
export function connectorToOwner(options: OwnerOptions): NonNullable<RedisOptions['Connector']> {
  const { address, key, openTo, disconnectTimeoutMs } = options
  const seed: Node = { host: address.host, port: address.port }
  let others: readonly Node[] = []

  /** The address itself when nobody knows: then that connection fails and says why. */
  async function findOwner(): Promise<Node> {
    const asked = [seed, ...others].slice(0, MAX_ASKED)
    try {
      const { slot, ranges } = await Promise.any(asked.map((node) => askWhere(key, node, openTo(node))))
      others = ranges.flatMap(({ nodes }) => nodes)
      return ranges.find(({ first, last }) => first <= slot && slot <= last)?.nodes[0] ?? seed
    } catch {
      return seed
    }
  }

  return class extends AbstractConnector {
    constructor() {
      super(disconnectTimeoutMs)
    }

    async connect() {
      this.connecting = true
      const isWanted = (): boolean => this.connecting
      const owner = await findOwner()
      // It was told to disconnect meanwhile.
      if (!isWanted()) throw new Error('Connection is closed.')
      const { tls } = address.access
      this.stream = tls === undefined ? connectPlain({ ...owner }) : connectEncrypted({ ...owner, ...tls })
      this.stream.once('error', (error: Error) => {
        this.firstError = error
      })
      return this.stream
    }
  }
}

async function askWhere(key: string, node: Node, connection: Redis): Promise<{ readonly slot: number; readonly ranges: readonly Range[] }> {
  connection.on('error', () => undefined)
  try {
    await connection.connect()
    const [slot, ranges] = await Promise.all([connection.cluster('KEYSLOT', key), connection.call('CLUSTER', 'SLOTS')])
    return { slot, ranges: toList(ranges).map((range) => toRange(toList(range), node)) }
  } finally {
    connection.disconnect()
  }
}

function toRange([first, last, ...nodes]: readonly unknown[], asked: Node): Range {
  return { first: Number(first), last: Number(last), nodes: nodes.map((node) => toNode(toList(node), asked)) }
}

/** A node that does not know its own name has the one that it was asked by. */
function toNode([host, port]: readonly unknown[], asked: Node): Node {
  return { host: typeof host === 'string' && host !== '' ? host : asked.host, port: Number(port) }
}

function toList(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : []
}
