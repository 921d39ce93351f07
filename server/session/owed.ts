/** What a session can owe the world; which of it, `next` says. */
import type { CallId } from '../ids.js'
import type { Acting, Modelling, ModelStep, OpenTurn, ToolStep } from './checkpoint.js'
import type { Answers, Compact, Control, Message } from './deliveries.js'
import type { AgentLimits } from './agent-port.js'
import type { Request } from './requests.js'
import type { SpokenAnswer } from './spoken-answer.js'

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
  /** Accepted answers, or a message that is one: settles the requests that it names. */
  | { readonly kind: 'answer'; readonly answers: Answers | SpokenAnswer }
  /** The turn's person has said something else: what it asked is withdrawn. */
  | { readonly kind: 'withdraw'; readonly acting: Acting; readonly messages: readonly Message[] }
  /** Nobody has answered in time. */
  | { readonly kind: 'expire-requests'; readonly acting: Acting; readonly requests: readonly Request[] }
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
