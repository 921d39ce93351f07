/** How a turn begins and ends, and how a session does. */
import type { Failure } from '../../errors.js'
import { limitPrompt, overBudget, type SpentBudget } from '../budget.js'
import { ANSWER_TOO_LATE, REJECTED_ENDED, iterationLimit, sessionLimit } from '../failures.js'
import type { ModelStep, OpenTurn } from '../checkpoint.js'
import type { Commit } from '../commit.js'
import type { Message } from '../deliveries.js'
import type { SessionEndReason } from '../events.js'
import { idleUntil, type Session } from '../session.js'
import { NO_USAGE } from '../usage.js'
import { openRequest, withdrawRequests } from './ask.js'
import { CommitDraft, type Settling } from './draft.js'
import { stepScope, turnScope } from './scope.js'

/** The messages begin a turn and its first step, in one commit. */
export function startTurn(session: Session, messages: readonly Message[], settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  beginStep(draft, openTurn(draft, messages))
  return draft.finish()
}

/** Opens the turn that `messages` ask for; the caller says what it does first. */
export function openTurn(draft: CommitDraft, messages: readonly Message[]): OpenTurn {
  const { session, settling } = draft
  const [first] = messages
  const principal = first?.by ?? session.facts.owner
  if (session.checkpoint.turns === 0) {
    const { agent, deployment } = session.facts
    draft.record({ type: 'SESSION_STARTED', data: { agent, deployment, predecessor: null } })
  }
  const turn: OpenTurn = {
    id: settling.ids.next('turn'),
    number: draft.countTurn(),
    principal,
    startedAt: settling.now,
    activeMs: 0,
    activeSince: settling.now,
    steps: 0,
    calls: 0,
    takeovers: 0,
    usage: NO_USAGE,
  }
  const scope = turnScope(turn)
  const deliveries = messages.map((message) => message.id)
  draft.record({ type: 'TURN_STARTED', data: { number: turn.number, deliveries, trigger: 'MESSAGE', principal } }, scope)
  receive(draft, turn, messages)
  const userInput = messages.map((message) => message.text).join('\n\n')
  draft.openedTurn = { id: turn.id, number: turn.number, trigger: 'MESSAGE', principal, userInput, startedAt: turn.startedAt }
  return turn
}

/** The messages become part of the turn, and of what the model reads. */
export function receive(draft: CommitDraft, turn: OpenTurn, messages: readonly Message[]): void {
  for (const message of messages) {
    draft.record({ type: 'MESSAGE_RECEIVED', data: { delivery: message.id, text: message.text, by: message.by } }, turnScope(turn))
    draft.settle(message, 'APPLIED', turn.id)
  }
  draft.appendHistory(messages.map((message) => ({ role: 'user', text: message.text })))
}

/** The model is asked again, as long as the turn has calls of it left. */
export function beginNextStep(draft: CommitDraft, turn: OpenTurn): void {
  const { maxIterationsPerTurn } = draft.settling.limits
  if (turn.steps < maxIterationsPerTurn) beginStep(draft, turn)
  else endTurn(draft, turn, { status: 'FAILED', output: null, error: iterationLimit(maxIterationsPerTurn) })
}

/** The next call of the model: a new step; or, over a budget, the question whether to go on. */
export function beginStep(draft: CommitDraft, turn: OpenTurn): void {
  const { settling, session } = draft
  const spent = overBudget(draft.checkpoint, settling.limits)
  if (spent !== null) {
    holdTurn(draft, turn, spent)
    return
  }
  const step: ModelStep = {
    id: settling.ids.next('stp'),
    index: turn.steps,
    attempt: 1,
    epoch: session.lease.epoch,
    failures: 0,
    retryAt: null,
    startedAt: settling.now,
  }
  beginAttempt(draft, { ...turn, steps: turn.steps + 1 }, step)
}

/** Where nobody reads, the turn has failed. */
function holdTurn(draft: CommitDraft, turn: OpenTurn, spent: SpentBudget): void {
  if (turn.principal.kind === 'SYSTEM') {
    endTurn(draft, turn, { status: 'FAILED', output: null, error: sessionLimit(spent) })
  } else {
    const { id: request } = openRequest(draft, turn, limitPrompt(spent), null)
    draft.enter({ kind: 'held', turn: rollClock(turn, draft.settling.now), request })
  }
}

/** Calls the model for `step` from now on, under this lease. */
export function beginAttempt(draft: CommitDraft, turn: OpenTurn, step: ModelStep): void {
  const { settling } = draft
  draft.record({ type: 'STEP_STARTED', data: { model: settling.model } }, stepScope(turn, step))
  draft.openedStep = {
    id: step.id,
    turnId: turn.id,
    index: step.index,
    attempt: step.attempt,
    model: settling.model,
    startedAt: settling.now,
  }
  draft.enter({ kind: 'modelling', turn: rollClock(turn, settling.now), step })
}

/** Books the active time so far: a crash loses at most what one step has used (limits.turnTimeoutMs). */
export function rollClock(turn: OpenTurn, now: number): OpenTurn {
  return { ...turn, activeMs: turn.activeMs + (turn.activeSince === null ? 0 : now - turn.activeSince), activeSince: now }
}

export type TurnEnding =
  | { readonly status: 'COMPLETED'; readonly output: string }
  | { readonly status: 'FAILED'; readonly output: string | null; readonly error: Failure }
  | { readonly status: 'CANCELLED'; readonly output: string | null; readonly reason: string }

/** Closes the turn; the session rests, unless something else is waiting (next.ts tells), or ends when the turn was all its task. */
export function endTurn(draft: CommitDraft, turn: OpenTurn, ending: TurnEnding): void {
  closeTurn(draft, turn, ending)
  finishTask(draft, ending.status, ending.status === 'FAILED' ? ending.error : null)
}

/** Closes the turn, whatever becomes of the session. */
export function closeTurn(draft: CommitDraft, turn: OpenTurn, ending: TurnEnding): void {
  const { now } = draft.settling
  const { activeMs } = rollClock(turn, now)
  const error = ending.status === 'FAILED' ? ending.error : null
  const reason = ending.status === 'CANCELLED' ? ending.reason : null
  const { output } = ending
  draft.closedTurn = { id: turn.id, status: ending.status, output, error, usage: turn.usage, activeMs, endedAt: now }
  const expiresAt = idleUntil(draft.session, now)
  draft.change = { usage: draft.checkpoint.usage, at: now, expiresAt, end: null }
  withdrawRequests(draft, reason ?? 'turn_ended')
  const data = { output, error, reason, usage: turn.usage, latencyMs: now - turn.startedAt }
  draft.record({ type: `TURN_${ending.status}`, data }, turnScope(turn))
  draft.enter({ kind: 'idle' })
}

/** A session that is one task ends as its turn did. */
export function finishTask(draft: CommitDraft, status: TurnEnding['status'], error: Failure | null): void {
  if (draft.session.facts.mode === 'TASK') endSession(draft, status, 'TASK_FINISHED', error)
}

/** Ends the session: nothing is appended after this. Whatever still waits in its inbox is answered. */
export function endSession(
  draft: CommitDraft,
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED',
  reason: SessionEndReason,
  error: Failure | null,
): void {
  const { now } = draft.settling
  for (const delivery of draft.unsettled()) {
    if (delivery.kind === 'MESSAGE') draft.settle(delivery, 'REJECTED', null, REJECTED_ENDED)
    else if (delivery.kind === 'ANSWERS') draft.settle(delivery, 'REJECTED', null, ANSWER_TOO_LATE)
    else draft.settle(delivery, 'APPLIED', null)
  }
  const { usage } = draft.checkpoint
  draft.record({ type: `SESSION_${status}`, data: { reason, error, usage } })
  draft.change = { usage, at: now, expiresAt: null, end: { reason, error } }
  draft.enter({ kind: 'ended', status, reason })
  draft.park = { wakeAt: null }
}
