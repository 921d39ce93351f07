import { describe } from 'vitest'
import { systemClock } from '../../server/clock.js'
import { testSessionStore } from '../conformance/session-store.js'
import { openTestEmbedded } from '../support/databases.js'

describe('the embedded database', () => testSessionStore(async () => ({ ...(await openTestEmbedded()), clock: systemClock })))
