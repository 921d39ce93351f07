import { createTestDatabase } from '../support/databases.js'
import { TEST_REDIS_URL, removeKeys, uniquePrefix } from '../support/redis.js'
import { sigkillSuite } from './sigkill.js'

sigkillSuite('postgres and redis', async () => {
  const { url, drop } = await createTestDatabase()
  const prefix = uniquePrefix()
  const remove = async (): Promise<void> => {
    await drop()
    await removeKeys(prefix)
  }
  return { databaseUrl: url, redis: { url: TEST_REDIS_URL, prefix }, remove }
})
