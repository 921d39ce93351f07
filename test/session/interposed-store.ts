/** A store in which something happens right before a write: what another process may do at the worst moment. */
import type { Commit } from '../../server/session/commit.js'
import type { CommitOutcome, SessionStore } from '../../server/session/ports.js'
import type { Session } from '../../server/session/session.js'

export function beforeCommit(store: SessionStore, happen: (session: Session, commit: Commit) => Promise<void>): SessionStore {
  return interpose(store, {
    async commit(session, commit, ttlMs): Promise<CommitOutcome> {
      await happen(session, commit)
      return store.commit(session, commit, ttlMs)
    },
  })
}

/** `store` with some of its methods replaced. */
export function interpose(store: SessionStore, methods: Partial<SessionStore>): SessionStore {
  return { ...store, ...methods }
}
