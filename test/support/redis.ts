/** The Redis of the tests: shared, so each test has a prefix of its own and leaves nothing behind. */
import { Redis } from 'ioredis'
import { createIdSource } from '../../server/ids.js'

export const TEST_REDIS_URL = process.env['TEST_REDIS_URL'] ?? 'redis://127.0.0.1:6379'

const ids = createIdSource()

export function uniquePrefix(): string {
  return `test-${ids.next('wrk').slice(4)}`
}

/** A connection of the test itself, to look at what is there and to take away what it left. */
export async function withRedis<Value>(work: (redis: Redis) => Promise<Value>, url = TEST_REDIS_URL): Promise<Value> {
  const redis = new Redis(url, { enableReadyCheck: false })
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}

export function removeKeys(prefix: string): Promise<void> {
  return withRedis(async (redis) => {
    const keys = await redis.keys(`{${prefix}}:*`)
    if (keys.length > 0) await redis.del(...keys)
  })
}
