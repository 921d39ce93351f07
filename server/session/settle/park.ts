/** Nothing is owed any more: the lease goes back, in the same commit as what led here. */
import type { Modelling } from '../checkpoint.js'
import type { Commit } from '../commit.js'
import type { Session } from '../session.js'
import type { SessionStatus } from '../status.js'
import { CommitDraft, type Settling } from './draft.js'
import { turnScope } from './turn.js'

/** A commit that parks and does nothing else. */
export function parkOnly(session: Session, wakeAt: number | null, settling: Settling): Commit {
  return park(new CommitDraft(session, settling).finish(), session, wakeAt, settling)
}

/** `commit` with the parking of `after`, the session as `commit` leaves it. */
export function park(commit: Commit, after: Session, wakeAt: number | null, settling: Settling): Commit {
  const draft = new CommitDraft(after, settling)
  const { phase, usage } = after.checkpoint
  if (phase.kind === 'modelling' && wakeAt !== null && wakeAt > settling.now) standStill(draft, phase)
  const status = restingStatus(after)
  if (status === 'IDLE' && after.status !== 'IDLE') draft.record({ type: 'SESSION_WAITING', data: { usage } })
  const parked = draft.finish()
  const change = commit.session ?? { usage, at: settling.now, expiresAt: null, end: null }
  return {
    ...commit,
    checkpoint: parked.checkpoint,
    guard: 'inbox',
    events: [...commit.events, ...parked.events],
    session: status === after.status && commit.session === null ? null : { ...change, status },
    park: { wakeAt },
  }
}

/** The turn waits for a provider's back-off: its clock stops. */
function standStill(draft: CommitDraft, { turn, step }: Modelling): void {
  if (turn.activeSince === null) return
  draft.record({ type: 'TURN_WAITING', data: { on: 'TIMER' } }, turnScope(turn))
  const activeMs = turn.activeMs + draft.settling.now - turn.activeSince
  draft.enter({ kind: 'modelling', step, turn: { ...turn, activeMs, activeSince: null } })
}

/** Nothing goes back to CREATED; and whoever polls does not read IDLE while a message waits for the next process. */
function restingStatus(session: Session): SessionStatus {
  const { phase } = session.checkpoint
  switch (phase.kind) {
    case 'created':
    case 'idle':
      if (session.deliveries.some((delivery) => delivery.kind === 'MESSAGE')) return 'RUNNING'
      return session.status === 'CREATED' ? 'CREATED' : 'IDLE'
    case 'modelling':
    case 'acting':
      return 'RUNNING'
    case 'ended':
      return phase.status
  }
}
