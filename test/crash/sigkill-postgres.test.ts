import { createTestDatabase } from '../support/databases.js'
import { sigkillSuite } from './sigkill.js'

sigkillSuite('postgres', createTestDatabase)
