import { describe } from 'vitest'
import { systemClock } from '../../server/clock.js'
import { testSessionStore } from '../conformance/session-store.js'
import { createMemoryStore } from '../support/memory-store.js'

describe('memory', () =>
  testSessionStore(() => Promise.resolve({ store: createMemoryStore(systemClock), clock: systemClock, close: () => Promise.resolve() })))
