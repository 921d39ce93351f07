import { systemClock } from '../../server/clock.js'
import { createMemoryStore } from '../support/memory-store.js'
import { claimEveryCrashPoint } from './every-crash-point.js'

claimEveryCrashPoint(() => createMemoryStore(systemClock))
