import { afterAll, beforeAll, describe } from 'vitest'
import type { OpenStore } from '../../server/store/open.js'
import { openTestPostgres } from '../support/databases.js'
import { claimEveryCrashPoint } from './every-crash-point.js'

describe('on PostgreSQL', () => {
  let database: OpenStore | null = null
  beforeAll(async () => {
    database = await openTestPostgres()
  })
  afterAll(() => database?.close())

  claimEveryCrashPoint(() => {
    if (database === null) throw new Error('the database is opened before the tests')
    return database.store
  })
})
