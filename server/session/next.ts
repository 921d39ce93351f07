/**
 * What a session owes the world now: a pure function of its checkpoint, its inbox and the time. The driver keeps exactly this in
 * flight; after a crash the next worker asks the same question of the same rows and goes on (drive.ts).
 */
import type { CallId } from '../ids.js'
import { openTurnOf, type Acting, type Modelling, type ModelStep, type OpenCall, type OpenTurn, type ToolStep } from './checkpoint.js'
import { isControl, type Control, type Message } from './deliveries.js'
import type { AgentLimits } from './ports.js'
import { isSamePrincipal } from './principal.js'
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
  | { readonly kind: 'begin-attempt'; readonly turn: OpenTurn; readonly step: ModelStep }
  | { readonly kind: 'recover-model'; readonly turn: OpenTurn; readonly step: ModelStep }
  | { readonly kind: 'recover-tools'; readonly acting: Acting }
  | { readonly kind: 'advance-step'; readonly acting: Acting }
  | { readonly kind: 'time-out' }
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
}

export function next(session: Session, circumstances: Circumstances): Owed {
  const control = session.deliveries.find((delivery): delivery is Control => isControl(delivery.kind))
  const { phase } = session.checkpoint
  if (phase.kind === 'ended') return { kind: 'park', wakeAt: null }
  if (session.claims > MAX_CLAIMS) return transition({ kind: 'stalled' })
  if (control !== undefined) return transition({ kind: 'control', control })
  switch (phase.kind) {
    case 'created':
    case 'idle': {
      const messages = foldable(session)
      if (messages.length > 0 && circumstances.draining) return { kind: 'park', wakeAt: circumstances.now }
      return messages.length > 0 ? transition({ kind: 'start-turn', messages }) : { kind: 'park', wakeAt: null }
    }
    case 'modelling':
      return nextOfModel(session, phase, circumstances)
    case 'acting':
      return nextOfTools(session, phase, circumstances)
  }
}

function nextOfModel(session: Session, phase: Modelling, { now, limits, draining }: Circumstances): Owed {
  const { turn, step } = phase
  const deadline = deadlineOf(turn, limits)
  if (step.retryAt !== null) {
    if (now >= deadline) return transition({ kind: 'time-out' })
    if (now >= step.retryAt && !draining) return transition({ kind: 'begin-attempt', turn, step })
    if (draining || turn.activeSince === null || step.retryAt - now > MODEL_RETRY.parkAboveMs) return { kind: 'park', wakeAt: step.retryAt }
    return { kind: 'effects', effects: [], dueAt: Math.min(step.retryAt, deadline) }
  }
  if (step.epoch !== session.lease.epoch) return transition({ kind: 'recover-model', turn, step })
  if (now >= deadline) return transition({ kind: 'time-out' })
  if (draining) return transition({ kind: 'hand-back', turn, step })
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

/** The messages that start the next turn: the oldest, and those right behind it from the same person. Anonymous callers never fold. */
export function foldable(session: Session): readonly Message[] {
  const messages = session.deliveries.filter((delivery): delivery is Message => delivery.kind === 'MESSAGE')
  const [first] = messages
  if (first === undefined) return []
  if (first.by.kind === 'ANONYMOUS') return [first]
  const end = messages.findIndex((message) => !isSamePrincipal(message.by, first.by))
  return end === -1 ? messages : messages.slice(0, end)
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
      return phase.step
    case 'control':
      return transition.control.kind === 'END' || cancels(session, transition.control) === 'open' ? phase.step : null
    default:
      return null
  }
}

/** Tells the calls of the model apart: one a step and attempt. */
export function modelKey(step: ModelStep): string {
  return `${step.id}#${step.attempt}`
}

/**
 * Which turn a cancel is bound to: the one it names; else the one that was open when it was accepted; else the one that messages
 * before it will start (`unstarted`). Bound to anything else it has no effect.
 */
export function cancels(session: Session, cancel: Extract<Control, { kind: 'CANCEL' }>): 'open' | 'unstarted' | null {
  const open = openTurnOf(session.checkpoint)
  const bound = cancel.turnId ?? cancel.openTurnId
  if (bound !== null) return open?.id === bound ? 'open' : null
  const waiting = foldable(session)[0]
  return open === null && waiting !== undefined && waiting.position < cancel.position ? 'unstarted' : null
}
