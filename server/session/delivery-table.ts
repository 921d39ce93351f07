/**
 * What becomes of a delivery, by what the session is at when its driver sees it. What messages do is asked here; that controls do what
 * stands here is tested cell by cell; docs/guarantees.md is printed from it.
 */
import type { Checkpoint } from './checkpoint.js'
import { isOfServed, type Delivery, type DeliveryKind, type Message } from './deliveries.js'
import type { Request } from './requests.js'
import { answeredBy } from './spoken-answer.js'

/** What of a session says what becomes of a delivery. */
export interface Inbox {
  readonly checkpoint: Checkpoint
  /** Unsettled, by position. */
  readonly deliveries: readonly Delivery[]
  /** Open, oldest first. */
  readonly requests: readonly Request[]
}

/** What a session can be at. */
export const CONDITIONS = [
  'at-rest',
  'model-silent',
  'model-speaking',
  'backing-off',
  'tools-running',
  'request-open',
  'over-limit',
  'stopping',
  'ended',
] as const
export type Condition = (typeof CONDITIONS)[number]

export const CONDITION_NAMES: Readonly<Record<Condition, string>> = {
  'at-rest': 'no turn is open',
  'model-silent': 'the model was called and has said nothing yet',
  'model-speaking': 'the model answers',
  'backing-off': 'the provider failed and is called again later',
  'tools-running': 'tools run',
  'request-open': 'an approval, a question or a sign-in is open',
  'over-limit': 'a budget is used up, and somebody is asked whether to go on',
  stopping: 'the turn is being stopped',
  ended: 'the session has ended',
}

/** A delivery as the table tells it apart: a message by what it may do to the open turn; one that answers a request in words is an answer. */
export type Form = 'steer' | 'queue' | Exclude<Lowercase<DeliveryKind>, 'message'>
export const FORMS: readonly Form[] = ['steer', 'queue', 'answers', 'cancel', 'compact', 'clear', 'end']

export const FORM_NAMES: Readonly<Record<Form, string>> = {
  steer: 'message, STEER, of the person whom the turn serves',
  queue: 'message, QUEUE, or of anybody else',
  answers: 'answers, or a message that answers a request in words',
  cancel: 'cancel',
  compact: 'compact',
  clear: 'clear',
  end: 'end',
}

/**
 * - `start`: begins a turn.
 * - `interrupt`: the call of the model is stopped, and made again with it as the next step of the same turn.
 * - `join`: becomes part of the turn at once, which goes on as it was.
 * - `join-later`: becomes part of the turn before the next call of the model; when there is none, it begins the next turn.
 * - `answer`: is applied to the requests that it names.
 * - `withdraw`: what the turn has asked is withdrawn; then as `join-later`.
 * - `wait`: nothing happens before the turn's end.
 * - `act`: takes effect at once.
 * - `stop`: running tools are told, and get their grace; then it takes effect.
 * - `none`: applied without effect.
 * - `refuse`: is not accepted at all.
 */
export type Treatment = 'start' | 'interrupt' | 'join' | 'join-later' | 'answer' | 'withdraw' | 'wait' | 'act' | 'stop' | 'none' | 'refuse'

export interface Cell {
  readonly does: Treatment
  /** For people. */
  readonly says: string
}

const STARTS: Cell = { does: 'start', says: 'starts a turn' }
const WAITS: Cell = { does: 'wait', says: 'waits for the end of the turn' }
const AFTER: Cell = { does: 'wait', says: 'compacts after the turn' }
const CANCELLED: Cell = { does: 'act', says: 'the turn is CANCELLED' }
const CANCELLED_AND_CLEARED: Cell = { does: 'act', says: 'the turn is CANCELLED, then cleared' }
const CANCELLED_AND_ENDED: Cell = { does: 'act', says: 'the turn is CANCELLED, and the session' }
const NOTHING_ASKED: Cell = { does: 'refuse', says: 'REQUEST_NOT_PENDING; NOT_FOUND for an unknown request' }
const ANSWERED: Cell = { does: 'answer', says: 'applied to its requests' }
const REFUSED: Cell = { does: 'refuse', says: 'SESSION_ENDED' }

export const DELIVERY_TABLE: Readonly<Record<Condition, Readonly<Record<Form, Cell>>>> = {
  'at-rest': {
    steer: STARTS,
    queue: STARTS,
    answers: NOTHING_ASKED,
    cancel: { does: 'act', says: 'cancels the turn that waiting messages are about to start; else no effect' },
    compact: { does: 'act', says: 'compacts' },
    clear: { does: 'act', says: 'clears' },
    end: { does: 'act', says: 'the session is COMPLETED' },
  },
  'model-silent': {
    steer: { does: 'interrupt', says: 'the call is stopped and made again with the message, in the same turn' },
    queue: WAITS,
    answers: NOTHING_ASKED,
    cancel: CANCELLED,
    compact: AFTER,
    clear: CANCELLED_AND_CLEARED,
    end: CANCELLED_AND_ENDED,
  },
  'model-speaking': {
    steer: {
      does: 'join-later',
      says: 'joins before the next call of the model, the text is kept; when the turn ends there, starts the next',
    },
    queue: WAITS,
    answers: NOTHING_ASKED,
    cancel: CANCELLED,
    compact: AFTER,
    clear: CANCELLED_AND_CLEARED,
    end: CANCELLED_AND_ENDED,
  },
  'backing-off': {
    steer: { does: 'join', says: 'joins; the call is made at its due time' },
    queue: WAITS,
    answers: NOTHING_ASKED,
    cancel: CANCELLED,
    compact: AFTER,
    clear: CANCELLED_AND_CLEARED,
    end: CANCELLED_AND_ENDED,
  },
  'tools-running': {
    steer: { does: 'join-later', says: 'the tools finish and keep their results; joins before the next call of the model' },
    queue: WAITS,
    answers: NOTHING_ASKED,
    cancel: { does: 'stop', says: 'their signals abort; the turn is CANCELLED when they answered, at the latest after `cancelGraceMs`' },
    compact: AFTER,
    clear: { does: 'stop', says: 'as cancel, then cleared' },
    end: { does: 'stop', says: 'as cancel, and the session CANCELLED' },
  },
  'request-open': {
    steer: { does: 'withdraw', says: 'withdraws what the turn has asked, and joins before the next call of the model' },
    queue: { does: 'wait', says: "waits for the end of the turn; sent after the request by the turn's person: as STEER" },
    answers: ANSWERED,
    cancel: { does: 'stop', says: 'its requests are CANCELLED, running tools stopped; the turn is CANCELLED' },
    compact: AFTER,
    clear: { does: 'stop', says: 'as cancel, then cleared' },
    end: { does: 'stop', says: 'as cancel, and the session CANCELLED' },
  },
  'over-limit': {
    steer: { does: 'wait', says: 'waits for the answer; then joins the turn' },
    queue: WAITS,
    answers: { does: 'answer', says: 'continue: the turn goes on, with a fresh budget; stop: it is CANCELLED' },
    cancel: CANCELLED,
    compact: AFTER,
    clear: CANCELLED_AND_CLEARED,
    end: CANCELLED_AND_ENDED,
  },
  stopping: {
    steer: { does: 'wait', says: 'starts the next turn' },
    queue: { does: 'wait', says: 'starts the next turn' },
    answers: NOTHING_ASKED,
    cancel: { does: 'none', says: 'the same stop' },
    compact: AFTER,
    clear: { does: 'stop', says: 'clears after it' },
    end: { does: 'stop', says: 'the session is CANCELLED with the turn' },
  },
  ended: {
    steer: REFUSED,
    queue: REFUSED,
    answers: REFUSED,
    cancel: REFUSED,
    compact: REFUSED,
    clear: REFUSED,
    end: { does: 'refuse', says: 'the first end' },
  },
}

/** `isSpeaking`: the call of the model that is in flight has shown text, or begun to ask for a tool. Reasoning is not shown as an answer. */
export function conditionOf({ phase }: Checkpoint, isSpeaking: boolean): Condition {
  switch (phase.kind) {
    case 'created':
    case 'idle':
      return 'at-rest'
    case 'modelling':
      if (phase.step.retryAt !== null) return 'backing-off'
      return isSpeaking ? 'model-speaking' : 'model-silent'
    case 'acting':
      if (phase.stopping !== null) return 'stopping'
      return phase.step.calls.some(({ state }) => state === 'asking') ? 'request-open' : 'tools-running'
    case 'held':
      return 'over-limit'
    case 'ended':
      return 'ended'
  }
}

export function formOf(inbox: Inbox, delivery: Delivery): Form {
  return delivery.kind === 'MESSAGE' ? formOfMessage(inbox, delivery) : FORM_OF[delivery.kind]
}

/** A turn that waits for a person would wait for ever for the end that a queued message waits for: whoever it serves corrects it. */
function formOfMessage({ checkpoint: { phase }, requests }: Inbox, message: Message): Form {
  if (!('turn' in phase)) return message.policy === 'STEER' ? 'steer' : 'queue'
  if (answeredBy(message, requests) !== null) return 'answers'
  if (!isOfServed(message, phase.turn.principal)) return 'queue'
  const hasSteered = phase.kind === 'acting' && phase.step.steeredBy?.includes(message.id) === true
  const isAfterRequest = requests[0] !== undefined && message.position > requests[0].openedAfter
  return message.policy === 'STEER' || hasSteered || isAfterRequest ? 'steer' : 'queue'
}

const FORM_OF = { ANSWERS: 'answers', CANCEL: 'cancel', COMPACT: 'compact', CLEAR: 'clear', END: 'end' } as const
