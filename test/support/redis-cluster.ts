/** A Redis Cluster of a test's own: three masters that share the slots, and a replica of each when it is asked for. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Redis } from 'ioredis'
import { expect, vi } from 'vitest'
import { startChildService, type ChildService } from './child-service.js'
import { withRedis } from './redis.js'
import { findFreePort } from './server-process.js'

const run = promisify(execFile)
const MASTERS = 3
/** The nodes talk to one another ten thousand ports further up. */
const BUS_OFFSET = 10_000
const MAX_PORT = 65_535

export interface ClusterNode {
  readonly url: string
  kill(): Promise<void>
  /** Starts it again at the same port. */
  start(): Promise<void>
}
export interface RedisCluster {
  readonly nodes: readonly ClusterNode[]
  /** The master that has the slot of this key. */
  ownerOf(key: string): Promise<ClusterNode>
  /** A replica of this master takes over from it, in order. */
  failOver(master: ClusterNode): Promise<void>
  close(): Promise<void>
}

export async function startRedisCluster({ replicas = 0 } = {}): Promise<RedisCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-cluster-'))
  const ports = await findPorts(MASTERS * (1 + replicas))
  const running = new Map<number, ChildService>()
  const nodes = ports.map((port) => toNode(port, folder, running))
  const close = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.kill()))
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await Promise.all(nodes.map((node) => node.start()))
    const addresses = ports.map((port) => `127.0.0.1:${port}`)
    await run('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', String(replicas), '--cluster-yes'])
    await Promise.all(nodes.map(({ url }) => untilWhole(url)))
  } catch (thrown) {
    await close()
    throw thrown
  }
  return {
    nodes,
    async ownerOf(key) {
      const up = nodes[ports.findIndex((port) => running.has(port))]
      const port = await withRedis((redis) => findOwner(redis, key), up?.url)
      const node = nodes[ports.indexOf(port)]
      if (node === undefined) throw new Error(`nobody of the cluster has ${key}`)
      return node
    },
    async failOver(master) {
      const id = await withRedis((redis) => redis.call('CLUSTER', 'MYID'), master.url)
      const listed = String(await withRedis((redis) => redis.call('CLUSTER', 'NODES'), master.url))
      const port = new RegExp(`^\\S+ 127\\.0\\.0\\.1:(\\d+)@\\S+ slave ${String(id)} `, 'm').exec(listed)?.[1]
      await withRedis((redis) => redis.call('CLUSTER', 'FAILOVER'), `redis://127.0.0.1:${port}`)
      await vi.waitFor(async () => expect(await withRedis((redis) => redis.role(), master.url)).toContain('slave'), 10_000)
    },
    close,
  }
}

function toNode(port: number, folder: string, running: Map<number, ChildService>): ClusterNode {
  const settings = {
    ...{ port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no' },
    'cluster-enabled': 'yes',
    'cluster-config-file': `nodes-${port}.conf`,
    'cluster-node-timeout': 1000,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  return {
    url: `redis://127.0.0.1:${port}`,
    async kill() {
      await running.get(port)?.kill('SIGKILL')
      running.delete(port)
    },
    async start() {
      running.set(port, await startChildService({ command: 'redis-server', args, readyWhen: /Ready to accept connections/ }))
    },
  }
}

async function findPorts(count: number): Promise<readonly number[]> {
  const found = new Set<number>()
  while (found.size < count) {
    const port = await findFreePort()
    if (port + BUS_OFFSET <= MAX_PORT) found.add(port)
  }
  return [...found]
}

/** Resolves once this node says that every slot is served. */
async function untilWhole(url: string): Promise<void> {
  await vi.waitFor(async () => expect(await withRedis((redis) => redis.cluster('INFO'), url)).toContain('cluster_state:ok'), 30_000)
}

async function findOwner(redis: Redis, key: string): Promise<number> {
  const slot = await redis.cluster('KEYSLOT', key)
  const ranges = await redis.cluster('SLOTS')
  const range = ranges.find(([first, last]) => first <= slot && slot <= last)
  return Number(range?.[2]?.[1])
}
