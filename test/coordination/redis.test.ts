import { afterEach } from 'vitest'
import { describeCoordinator } from '../conformance/coordinator.js'
import { removeKeys, TEST_REDIS_URL, uniquePrefix } from '../support/redis.js'
import { openRedisBackend } from './redis-process.js'

let prefix: string

describeCoordinator('redis', () => {
  prefix = uniquePrefix()
  return openRedisBackend([TEST_REDIS_URL, TEST_REDIS_URL], prefix)
})
afterEach(() => removeKeys(prefix))
