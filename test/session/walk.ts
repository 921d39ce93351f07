/** Moves a session as `drive` does, without a world: every transition at once, parking included, until something outside has to answer. */
import type { Commit } from '../../server/session/commit.js'
import { interruptedStep, next } from '../../server/session/next.js'
import type { Circumstances, Owed } from '../../server/session/owed.js'
import type { Block } from '../../server/session/outcomes.js'
import type { AgentLimits } from '../../server/session/agent-port.js'
import { applyCommit, type Session } from '../../server/session/session.js'
import { park, parkOnly } from '../../server/session/settle/park.js'
import { settleTransition } from '../../server/session/settle/settle.js'
import { checkCommit } from '../../server/store/check-commit.js'
import { LIMITS, NOW, settlingAt } from '../support/given.js'

export interface WalkOptions {
  readonly now?: number
  readonly limits?: AgentLimits
  readonly draining?: boolean
  /** What the model that runs has said so far. */
  readonly said?: readonly Block[]
}
export interface Walk {
  readonly session: Session
  readonly commits: readonly Commit[]
  /** What is owed at the end: effects, or nothing. */
  readonly owed: Exclude<Owed, { kind: 'transition' }>
}

/** More transitions than any state needs: reaching it is a loop. */
const MAX_COMMITS = 20

export function walk(from: Session, options: WalkOptions = {}): Walk {
  const circumstances = toCircumstances(options)
  const commits: Commit[] = []
  for (let session = from; ;) {
    const owed = next(session, circumstances)
    const left = commits.at(-1)?.park != null || session.checkpoint.phase.kind === 'ended'
    if (owed.kind === 'effects' || (owed.kind === 'park' && left)) return { session, commits, owed }
    const commit = owed.kind === 'park' ? parkOnly(session, owed.wakeAt, settling(options)) : step(session, owed, options)
    checkCommit(session, commit)
    session = applyCommit(session, commit)
    commits.push(commit)
    if (owed.kind === 'park') return { session, commits, owed }
    if (commits.length > MAX_COMMITS) throw new Error(`still owes ${owed.transition.kind} after ${MAX_COMMITS} commits`)
  }
}

function step(session: Session, owed: Extract<Owed, { kind: 'transition' }>, options: WalkOptions): Commit {
  const said = interruptedStep(session, owed.transition) === null ? [] : (options.said ?? [])
  return withParking(session, settleTransition(session, owed.transition, said, settling(options)), options)
}

/** A commit with its parking, when nothing is owed after it. */
export function withParking(session: Session, commit: Commit, options: WalkOptions = {}): Commit {
  if (commit.park !== null) return commit
  const after = applyCommit(session, commit)
  const then = next(after, toCircumstances(options))
  return then.kind === 'park' ? park(commit, after, then.wakeAt, settling(options)) : commit
}

export function effectKinds(owed: Owed): readonly string[] {
  if (owed.kind !== 'effects') return []
  return owed.effects.map((effect) => (effect.kind === 'run-tool' && effect.aborted ? 'run-tool, aborted' : effect.kind))
}

export function eventTypes(commits: readonly Commit[]): readonly string[] {
  return commits.flatMap((commit) => commit.events.map((event) => event.type))
}

function toCircumstances({ now = NOW, limits = LIMITS, draining = false, said = [] }: WalkOptions): Circumstances {
  return { now, limits, draining, isSpeaking: said.some(({ kind }) => kind === 'text') }
}

function settling({ now = NOW, limits = LIMITS, draining = false }: WalkOptions) {
  return settlingAt(now, { limits, draining })
}
