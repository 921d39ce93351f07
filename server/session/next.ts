/**
 * What a session owes the world now: a pure function of its checkpoint, its inbox and the time. The driver keeps exactly this in
 * flight; after a crash the next worker asks the same question of the same rows and goes on (drive.ts).
 */
import type { CallId } from '../ids.js'
import type { Acting, Modelling, ModelStep, OpenCall, OpenTurn, ToolStep } from './checkpoint.js'
import type { Compact, Control, Message } from './deliveries.js'
import { conditionOf } from './delivery-table.js'
import { cancels, firstControl, foldable, messagesTo } from './inbox.js'
import type { AgentLimits } from './ports.js'
import { MAX_CLAIMS, MODEL_RETRY } from './retry.js'
import type { Session } from './session.js'

export type Owed =
  /** A step that needs nothing from outside: settle it at once. */
  | { readonly kind: 'transition'; readonly transition: Transition }
  /** These should be in flight, nothing else; look again at `dueAt` at the latest. */
  | { readonly kind: 'effects'; readonly effects: readonly Effect[]; readonly dueAt: number | null }
  /** Nothing until something arrives, or until `wakeAt`. */
  | { readonly kind: 'park'; readonly wakeAt: number | null }

export type Transition =
  /** Claimed too often without a commit: what it is at is given up. */
  | { readonly kind: 'stalled' }
  | { readonly kind: 'control'; readonly control: Control }
  | { readonly kind: 'start-turn'; readonly messages: readonly Message[] }
  | { readonly kind: 'compact'; readonly compact: Compact }
  /** The messages join the open turn: before the call that the provider's back-off holds up, or in place of the one in flight. */
  | { readonly kind: 'join' | 'interrupt'; readonly modelling: Modelling; readonly messages: readonly Message[] }
  | { readonly kind: 'begin-attempt'; readonly turn: OpenTurn; readonly step: ModelStep }
  | { readonly kind: 'recover-model'; readonly turn: OpenTurn; readonly step: ModelStep }
  | { readonly kind: 'recover-tools'; readonly acting: Acting }
  | { readonly kind: 'advance-step'; readonly acting: Acting }
  | { readonly kind: 'time-out' }
  /** The session has been idle for too long. */
  | { readonly kind: 'expire' }
  | { readonly kind: 'hand-back'; readonly turn: OpenTurn; readonly step: ModelStep }

export type Effect =
  | { readonly kind: 'call-model'; readonly key: string; readonly turn: OpenTurn; readonly step: ModelStep }
  /** `aborted`: its signal has to be set; it still gets its grace to answer. */
  | {
      readonly kind: 'run-tool'
      readonly key: string
      readonly turn: OpenTurn
      readonly step: ToolStep
      readonly callId: CallId
      readonly aborted: boolean
    }

export interface Circumstances {
  readonly now: number
  readonly limits: AgentLimits
  /** The process is about to stop: model calls are given back instead of begun. */
  readonly draining: boolean
  /** The call of the model that is in flight has shown something of its answer. */
  readonly isSpeaking: boolean
}

export function next(session: Session, circumstances: Circumstances): Owed {
  const control = firstControl(session)
  const { phase } = session.checkpoint
  if (phase.kind === 'ended') return { kind: 'park', wakeAt: null }
  if (session.claims > MAX_CLAIMS) return transition({ kind: 'stalled' })
  if (control !== null) return transition({ kind: 'control', control })
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

function nextOfTools(session: Session, phase: Acting, { now, limits, draining }: Circumstances): Owed {
  const { turn, step, stopping } = phase
  if (step.calls.some((call) => call.state === 'started' && call.epoch !== session.lease.epoch)) {
    return transition({ kind: 'recover-tools', acting: phase })
  }
  const running = step.calls.filter((call) => call.state === 'started')
  const dueAt = stopping === null ? deadlineOf(turn, limits) : stopping.until
  if (stopping === null) {
    if (now >= dueAt) return transition({ kind: 'time-out' })
    const ended = step.calls.every((call) => call.state === 'ended')
    if (ended || (!draining && startable(step.calls).length > 0)) return transition({ kind: 'advance-step', acting: phase })
    if (running.length === 0) return { kind: 'park', wakeAt: now }
  } else if (running.length === 0 || now >= dueAt) {
    return transition({ kind: 'advance-step', acting: phase })
  }
  const effects = running.map(
    (call) => ({ kind: 'run-tool', key: call.id, turn, step, callId: call.id, aborted: stopping !== null }) as const,
  )
  return { kind: 'effects', effects, dueAt }
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
