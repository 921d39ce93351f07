/**
 * What a session owes the world now: a pure function of its checkpoint, its inbox and the time. The driver keeps exactly this in
 * flight; after a crash the next worker asks the same question of the same rows and goes on (drive.ts).
 */
import type { Acting, Modelling, ModelStep, OpenCall, OpenTurn } from './checkpoint.js'
import { conditionOf } from './delivery-table.js'
import { cancels, expired, firstAnswers, firstControl, foldable, messagesTo, nextExpiry } from './inbox.js'
import type { Circumstances, Owed, Transition } from './owed.js'
import type { AgentLimits } from './agent-port.js'
import { MAX_CLAIMS, MODEL_RETRY } from './retry.js'
import type { Session } from './session.js'

export function next(session: Session, circumstances: Circumstances): Owed {
  const control = firstControl(session)
  const { phase } = session.checkpoint
  if (phase.kind === 'ended') return { kind: 'park', wakeAt: null }
  if (session.claims > MAX_CLAIMS) return transition({ kind: 'stalled' })
  if (control !== null) return transition({ kind: 'control', control })
  const answers = firstAnswers(session)
  if (answers !== null) return transition({ kind: 'answer', answers })
  switch (phase.kind) {
    case 'created':
    case 'idle': {
      const [first] = session.deliveries
      if (first === undefined)
        return isIdleTooLong(session, circumstances) ? transition({ kind: 'expire' }) : { kind: 'park', wakeAt: session.expiresAt }
      if (circumstances.draining) return { kind: 'park', wakeAt: circumstances.now }
      if (first.kind === 'COMPACT') return transition({ kind: 'compact', compact: first })
      return transition({ kind: 'start-turn', messages: foldable(session) })
    }
    case 'modelling':
      return nextOfModel(session, phase, circumstances)
    case 'acting':
      return nextOfTools(session, phase, circumstances)
    case 'held':
      return wait(session, phase.turn, circumstances)
  }
}

function nextOfModel(session: Session, phase: Modelling, circumstances: Circumstances): Owed {
  const { now, limits, draining, isSpeaking } = circumstances
  const { turn, step } = phase
  const deadline = deadlineOf(turn, limits)
  const condition = conditionOf(session.checkpoint, isSpeaking)
  if (step.retryAt !== null) {
    if (now >= deadline) return transition({ kind: 'time-out' })
    const joining = messagesTo('join', condition, session)
    if (joining.length > 0) return transition({ kind: 'join', modelling: phase, messages: joining })
    if (turn.activeSince === null && isIdleTooLong(session, circumstances)) return transition({ kind: 'expire' })
    if (now >= step.retryAt && !draining) return transition({ kind: 'begin-attempt', turn, step })
    if (draining || turn.activeSince === null || step.retryAt - now > MODEL_RETRY.parkAboveMs) {
      return { kind: 'park', wakeAt: Math.min(step.retryAt, session.expiresAt ?? Infinity) }
    }
    return { kind: 'effects', effects: [], dueAt: Math.min(step.retryAt, deadline) }
  }
  if (step.epoch !== session.lease.epoch) return transition({ kind: 'recover-model', turn, step })
  if (now >= deadline) return transition({ kind: 'time-out' })
  if (draining) return transition({ kind: 'hand-back', turn, step })
  const interrupting = messagesTo('interrupt', condition, session)
  if (interrupting.length > 0) return transition({ kind: 'interrupt', modelling: phase, messages: interrupting })
  return { kind: 'effects', effects: [{ kind: 'call-model', key: modelKey(step), turn, step }], dueAt: deadline }
}

function nextOfTools(session: Session, phase: Acting, circumstances: Circumstances): Owed {
  const { now, limits, draining } = circumstances
  const { turn, step, stopping } = phase
  if (step.calls.some((call) => call.state === 'started' && call.epoch !== session.lease.epoch)) {
    return transition({ kind: 'recover-tools', acting: phase })
  }
  const running = step.calls.filter((call) => call.state === 'started')
  const deadline = stopping === null ? deadlineOf(turn, limits) : stopping.until
  if (stopping === null) {
    if (now >= deadline) return transition({ kind: 'time-out' })
    const owed = session.requests.length === 0 ? null : nextOfRequests(session, phase, now)
    if (owed !== null) return owed
    const ended = step.calls.every((call) => call.state === 'ended')
    const begins = startable(step.calls).length > 0
    if (ended || (begins && !draining)) return transition({ kind: 'advance-step', acting: phase })
    if (running.length === 0) return begins ? { kind: 'park', wakeAt: now } : wait(session, turn, circumstances)
  } else if (running.length === 0 || now >= deadline) {
    return transition({ kind: 'advance-step', acting: phase })
  }
  const effects = running.map(
    (call) => ({ kind: 'run-tool', key: call.id, turn, step, callId: call.id, aborted: stopping !== null }) as const,
  )
  return { kind: 'effects', effects, dueAt: Math.min(deadline, nextExpiry(session)) }
}

function nextOfRequests(session: Session, acting: Acting, now: number): Owed | null {
  const messages = messagesTo('withdraw', conditionOf(session.checkpoint, false), session)
  if (messages.length > 0) return transition({ kind: 'withdraw', acting, messages })
  const requests = expired(session, now)
  return requests.length === 0 ? null : transition({ kind: 'expire-requests', acting, requests })
}

/** For people: until somebody answers, a request expires, or the session has been idle for too long. */
function wait(session: Session, turn: OpenTurn, circumstances: Circumstances): Owed {
  if (turn.activeSince === null && isIdleTooLong(session, circumstances)) return transition({ kind: 'expire' })
  const wakeAt = Math.min(nextExpiry(session), session.expiresAt ?? Infinity)
  return { kind: 'park', wakeAt: wakeAt === Infinity ? null : wakeAt }
}

/** Calls that may begin now: side by side, but a sequential one runs alone and nothing overtakes it. */
export function startable(calls: readonly OpenCall[]): readonly OpenCall[] {
  const running = calls.filter((call) => call.state === 'started')
  if (running.some((call) => call.sequential)) return []
  const waiting = calls.filter((call) => call.state === 'requested')
  const barrier = waiting.findIndex((call) => call.sequential)
  if (barrier === -1) return waiting
  if (barrier > 0) return waiting.slice(0, barrier)
  return running.length === 0 ? waiting.slice(0, 1) : []
}

function isIdleTooLong({ expiresAt }: Session, { now }: Circumstances): boolean {
  return expiresAt !== null && now >= expiresAt
}

/** When the turn's active time is used up; the clock stands still while nothing of the turn runs. */
function deadlineOf(turn: OpenTurn, limits: AgentLimits): number {
  return turn.activeSince === null ? Infinity : turn.activeSince + limits.turnTimeoutMs - turn.activeMs
}

function transition(of: Transition): Owed {
  return { kind: 'transition', transition: of }
}

/** The step whose model call the transition takes away, if any: the driver stops it first and keeps what it said. */
export function interruptedStep(session: Session, transition: Transition): ModelStep | null {
  const { phase } = session.checkpoint
  if (phase.kind !== 'modelling') return null
  switch (transition.kind) {
    case 'time-out':
    case 'hand-back':
    case 'interrupt':
      return phase.step
    case 'control':
      return transition.control.kind !== 'CANCEL' || cancels(session, transition.control) === 'open' ? phase.step : null
    default:
      return null
  }
}

/** Tells the calls of the model apart: one a step and attempt. */
export function modelKey(step: ModelStep): string {
  return `${step.id}#${step.attempt}`
}
