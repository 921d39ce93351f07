import { describe } from 'vitest'
import { systemClock } from '../../server/clock.js'
import { testSessionStore } from '../conformance/session-store.js'
import { openTestPostgres } from '../support/databases.js'

describe('PostgreSQL', () => testSessionStore(async () => ({ ...(await openTestPostgres()), clock: systemClock })))
