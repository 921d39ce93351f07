/** Nothing is owed any more: the lease goes back, in the same commit as what led here. */
import type { Phase } from '../checkpoint.js'
import type { Commit } from '../commit.js'
import type { WaitReason } from '../events.js'
import { startable } from '../next.js'
import type { Request } from '../requests.js'
import type { Session } from '../session.js'
import { statusOf, waitsFor } from '../status-of.js'
import type { SessionStatus } from '../status.js'
import { CommitDraft, type Settling } from './draft.js'
import { turnScope } from './scope.js'

/** A commit that parks and does nothing else. */
export function parkOnly(session: Session, wakeAt: number | null, settling: Settling): Commit {
  return park(new CommitDraft(session, settling).finish(), session, wakeAt, settling)
}

/** `commit` with the parking of `after`, the session as `commit` leaves it. */
export function park(commit: Commit, after: Session, wakeAt: number | null, settling: Settling): Commit {
  const draft = new CommitDraft(after, settling)
  const { usage } = after.checkpoint
  standStill(draft, after, wakeAt)
  const status = restingStatus(after)
  if (status === 'IDLE' && after.status !== 'IDLE') draft.record({ type: 'SESSION_WAITING', data: { usage } })
  const parked = draft.finish()
  const change = commit.session ?? { usage, at: settling.now, expiresAt: null, end: null }
  return {
    ...commit,
    checkpoint: parked.checkpoint,
    guard: 'inbox',
    events: [...commit.events, ...parked.events],
    turnStatus: parked.turnStatus ?? commit.turnStatus,
    session: status === after.status && commit.session === null ? null : { ...change, status },
    park: { wakeAt },
  }
}

/** The turn waits, for people or for a provider's back-off: its clock stops. */
function standStill(draft: CommitDraft, { checkpoint: { phase }, requests }: Session, wakeAt: number | null): void {
  const { now } = draft.settling
  const on = waitReason(phase, requests, wakeAt !== null && wakeAt > now)
  if (on === null || !('turn' in phase) || phase.turn.activeSince === null) return
  draft.record({ type: 'TURN_WAITING', data: { on } }, turnScope(phase.turn))
  draft.turnStatus = { id: phase.turn.id, status: 'WAITING' }
  const activeMs = phase.turn.activeMs + now - phase.turn.activeSince
  draft.enter({ ...phase, turn: { ...phase.turn, activeMs, activeSince: null } })
}

/** Null: it does not wait, but is handed to the next process. */
function waitReason(phase: Phase, requests: readonly Request[], isTimed: boolean): WaitReason | null {
  switch (phase.kind) {
    case 'modelling':
      return isTimed ? 'TIMER' : null
    case 'acting':
      return startable(phase.step.calls).length === 0 ? waitsFor(requests) : null
    case 'held':
      return waitsFor(requests)
    default:
      return null
  }
}

/** Nothing goes back to CREATED; and whoever polls does not read IDLE while a message waits for the next process. */
function restingStatus({ checkpoint: { phase }, requests, status, deliveries }: Session): SessionStatus {
  if (phase.kind !== 'created' && phase.kind !== 'idle') return statusOf(phase, requests, status)
  if (deliveries.some((delivery) => delivery.kind === 'MESSAGE')) return 'RUNNING'
  return status === 'CREATED' ? 'CREATED' : 'IDLE'
}
