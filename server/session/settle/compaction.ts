/** Compaction on request, between turns. */
import type { Commit } from '../commit.js'
import type { Compact } from '../deliveries.js'
import { COMPACTION_UNAVAILABLE } from '../failures.js'
import type { Session } from '../session.js'
import { CommitDraft, type Settling } from './draft.js'

/** This release summarises nothing; whoever asked is told. */
export function settleCompact(session: Session, compact: Compact, settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  draft.settle(compact, 'REJECTED', null, COMPACTION_UNAVAILABLE)
  return draft.finish()
}
