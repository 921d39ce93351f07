import { createTestDatabase } from '../support/databases.js'
import { sigkillSuite } from './sigkill.js'

sigkillSuite('postgres', async () => {
  const { url, drop } = await createTestDatabase()
  return { databaseUrl: url, redis: null, remove: drop }
})
