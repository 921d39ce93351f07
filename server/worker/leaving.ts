/** A lease that goes back with a commit, while a renewal is under way that does not find it any more. */
import type { SessionStore } from '../session/ports.js'
import type { HeldLease } from './leases.js'

/** The store, whose commits say to the lease that they give it back: they may be applied long before they are answered. */
export function sayingWhenItLeaves(store: SessionStore, held: Pick<HeldLease, 'leaving'>): SessionStore {
  return {
    ...store,
    async commit(session, commit, ttlMs) {
      held.leaving(commit.park !== null)
      const outcome = await store.commit(session, commit, ttlMs)
      held.leaving(outcome.kind === 'committed' && commit.park !== null)
      return outcome
    },
  }
}
