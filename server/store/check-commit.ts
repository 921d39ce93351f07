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
  if (commit.history.length > commit.checkpoint.historyLength) return `appends more history than the checkpoint counts`
  return findTwice(commit)
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
