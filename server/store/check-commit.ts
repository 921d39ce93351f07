/** What a commit must be before it is sent. A violation is a bug of whoever made it: it is thrown and nothing is written. */
import { PerdureError } from '../errors.js'
import { isEndedPhase } from '../session/checkpoint.js'
import type { Commit } from '../session/commit.js'
import type { Session } from '../session/session.js'
import { canMove, isEnded } from '../session/status.js'

export function checkCommit(session: Session, commit: Commit): void {
  const problem = findProblem(session, commit)
  if (problem !== null) throw new PerdureError('INTERNAL', `commit to session ${session.facts.id} ${problem}`)
}

function findProblem(session: Session, commit: Commit): string | null {
  const to = commit.session?.status ?? session.status
  const ends = isEndedPhase(commit.checkpoint)
  if (!canMove(session.status, to)) return `moves its status from ${session.status} to ${to}, which is no move of the status table`
  if (ends !== isEnded(to)) return `has phase ${commit.checkpoint.phase.kind} with status ${to}`
  if (ends !== (commit.session !== null && commit.session.end !== null))
    return `has phase ${commit.checkpoint.phase.kind} and disagrees in its end`
  if ((ends || commit.park !== null) && commit.guard !== 'inbox') return `parks or ends it with guard ${commit.guard}, not inbox (R4)`
  if (!countsHistory(session, commit)) return `appends history that the checkpoint does not count`
  return findUnasked(session, commit) ?? findTwice(commit)
}

/** A call that waits for an answer has its request, and no request outlives its turn. */
function findUnasked({ requests }: Session, { checkpoint: { phase }, newRequests, settledRequests, closedTurn }: Commit): string | null {
  const settled = new Set(settledRequests.map(({ id }) => id))
  const open = new Set([...requests, ...newRequests].map(({ id }) => id).filter((id) => !settled.has(id)))
  const asked = phase.kind === 'acting' ? phase.step.calls.flatMap((call) => (call.state === 'asking' ? [call.request] : [])) : []
  const missing = [...asked, ...(phase.kind === 'held' ? [phase.request] : [])].find((id) => !open.has(id))
  if (missing !== undefined) return `waits for the answer to ${missing}, which is not open`
  const [left] = open
  return closedTurn !== null && left !== undefined ? `closes the turn and leaves ${left} open` : null
}

/** What is appended goes where the history ended; it belongs to the old epoch when a new one begins. */
function countsHistory({ checkpoint: before }: Session, { checkpoint: after, history, historyFrom, newEpoch }: Commit): boolean {
  const goesOn = historyFrom.epoch === before.historyEpoch && historyFrom.position === before.historyLength
  if (newEpoch !== null) return goesOn && newEpoch.epoch === after.historyEpoch && after.historyEpoch === before.historyEpoch + 1
  return goesOn && after.historyEpoch === before.historyEpoch && after.historyLength === before.historyLength + history.length
}

function findTwice(commit: Commit): string | null {
  const named = new Set<string>()
  for (const rows of [[commit.openedStep, commit.closedStep], commit.newCalls, commit.changedCalls, commit.settled]) {
    for (const row of rows) {
      if (row === null) continue
      if (named.has(row.id)) return `names ${row.id} twice`
      named.add(row.id)
    }
  }
  return null
}
