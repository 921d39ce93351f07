/** The session store, with its outcomes told to the meter: every claim, write and look of the process goes through here. */
import type { Meter } from '../session/meter.js'
import type { SessionStore } from '../session/ports.js'

export function meterStore(store: SessionStore, meter: Meter): SessionStore {
  return {
    ...store,
    async claim(sessionId, options) {
      try {
        const session = await store.claim(sessionId, options)
        meter.claimed(session === 'not-due' ? 'not-due' : 'driven')
        return session
      } catch (thrown) {
        meter.claimed('failed')
        throw thrown
      }
    },
    async commit(session, commit, ttlMs) {
      const outcome = await store.commit(session, commit, ttlMs)
      if (outcome.kind === 'committed') meter.eventsWritten(outcome.events.length)
      if (outcome.kind === 'fenced') meter.fenced()
      return outcome
    },
    async appendEvents(batches, ttlMs) {
      const outcomes = await store.appendEvents(batches, ttlMs)
      for (const outcome of outcomes.values()) {
        if (outcome.kind === 'appended') meter.eventsWritten(outcome.events.length)
        if (outcome.kind === 'fenced') meter.fenced()
      }
      return outcomes
    },
    async sweep(options) {
      const due = await store.sweep(options)
      meter.polled(due.length)
      return due
    },
  }
}
