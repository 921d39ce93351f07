/** Everything that the coordinator promises, on a Redis Cluster, and what happens when the node that has the queue is lost. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeCoordinator } from '../conformance/coordinator.js'
import { sessionNamed } from '../support/log-store.js'
import { uniquePrefix, withRedis } from '../support/redis.js'
import { startRedisCluster, type RedisCluster } from '../support/redis-cluster.js'
import { eventually, openRedisBackend, openRedisProcess, type RedisProcess } from './redis-process.js'

const [A, B] = [sessionNamed('a'), sessionNamed('b')]
let cluster: RedisCluster

beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: 1 })
})
afterAll(() => cluster.close())

/** As it stands in REDIS_URL: any node will do. */
function anyNode(nth = 0): string {
  return `${cluster.nodes[nth]?.url}?cluster=true`
}

async function openTwo(prefix: string): Promise<readonly [RedisProcess, RedisProcess]> {
  return Promise.all([openRedisProcess({ url: anyNode(0), prefix }), openRedisProcess({ url: anyNode(1), prefix })])
}

describeCoordinator('redis cluster', () => openRedisBackend([anyNode(0), anyNode(1)], uniquePrefix()))

describe('redis cluster', () => {
  test('every process listens at the node that has the queue, so that its scripts know who hears', async () => {
    const prefix = uniquePrefix()
    const [one, other] = await openTwo(prefix)
    const owner = await cluster.ownerOf(`{${prefix}}`)
    const listening = await withRedis((redis) => redis.pubsub('NUMSUB', `${prefix}:announcements`), owner.url)
    expect(listening).toEqual([`${prefix}:announcements`, 2])
    await Promise.all([one.close(), other.close()])
  })

  test('a node that is addressed as if it were alone says what to write instead', async () => {
    const prefix = uniquePrefix()
    const owner = await cluster.ownerOf(`{${prefix}}`)
    const wrong = cluster.nodes.find((node) => node !== owner)
    const process = await openRedisProcess({ url: String(wrong?.url), prefix })
    await process.untilHealth(/its keys are on another node of the cluster; REDIS_URL has to say \?cluster=true/)
    expect(process.lines).toHaveLength(1)
    await process.close()
  })

  test('when the queue moves to another node, and both stay, it is followed there', async () => {
    const prefix = uniquePrefix()
    const [one, other] = await openTwo(prefix)
    const before = await cluster.ownerOf(`{${prefix}}`)
    await cluster.failOver(before)
    expect(await cluster.ownerOf(`{${prefix}}`)).not.toBe(before)
    // A process that has not noticed yet drives it by itself.
    const taken = [one.run('hold'), other.run('hold')]
    one.coordinator.wake(A)
    await eventually(() => expect(taken.flat()).toContain(A))
    const after = await cluster.ownerOf(`{${prefix}}`)
    await eventually(async () => {
      const listening = await withRedis((redis) => redis.pubsub('NUMSUB', `${prefix}:announcements`), after.url)
      expect(listening).toEqual([`${prefix}:announcements`, 2])
    })
    await Promise.all([one.untilHealth(null), other.untilHealth(null)])
    await Promise.all([one.close(), other.close()])
  })

  test('when the node that has the queue dies, its replica is found', async () => {
    const prefix = uniquePrefix()
    const [one, other] = await openTwo(prefix)
    const owner = await cluster.ownerOf(`{${prefix}}`)
    await owner.kill()
    await one.untilHealth(/ECONNREFUSED|ECONNRESET|closed/)
    one.coordinator.wake(A)
    expect((await one.take())?.sessionId).toBe(A)
    await Promise.all([one.untilHealth(null), other.untilHealth(null)])
    expect(await cluster.ownerOf(`{${prefix}}`)).not.toBe(owner)
    const waiting = one.take()
    other.coordinator.wake(B)
    expect((await waiting)?.sessionId).toBe(B)
    await eventually(() => expect(one.lines).toEqual([expect.stringMatching(/^warn /), 'info Redis is of use again']))
    await Promise.all([one.close(), other.close(), owner.start()])
  })
})
