/**
 * What becomes of a delivery, by what the session is at when its driver sees it. What messages do is asked here; that controls do what
 * stands here is tested cell by cell; docs/guarantees.md is printed from it.
 */
import type { Checkpoint } from './checkpoint.js'
import { steers, type Delivery, type DeliveryKind } from './deliveries.js'

/** What a session can be at. */
export const CONDITIONS = ['at-rest', 'model-silent', 'model-speaking', 'backing-off', 'tools-running', 'stopping', 'ended'] as const
export type Condition = (typeof CONDITIONS)[number]

export const CONDITION_NAMES: Readonly<Record<Condition, string>> = {
  'at-rest': 'no turn is open',
  'model-silent': 'the model was called and has said nothing yet',
  'model-speaking': 'the model answers',
  'backing-off': 'the provider failed and is called again later',
  'tools-running': 'tools run',
  stopping: 'the turn is being stopped',
  ended: 'the session has ended',
}

/** A delivery as the table tells it apart: a message by what it may do to the open turn. */
export type Form = 'steer' | 'queue' | Exclude<Lowercase<DeliveryKind>, 'message'>
export const FORMS: readonly Form[] = ['steer', 'queue', 'cancel', 'compact', 'clear', 'end']

export const FORM_NAMES: Readonly<Record<Form, string>> = {
  steer: 'message, STEER, of the person whom the turn serves',
  queue: 'message, QUEUE, or of anybody else',
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
 * - `wait`: nothing happens before the turn's end.
 * - `act`: takes effect at once.
 * - `stop`: running tools are told, and get their grace; then it takes effect.
 * - `none`: applied without effect.
 * - `refuse`: is not accepted at all.
 */
export type Treatment = 'start' | 'interrupt' | 'join' | 'join-later' | 'wait' | 'act' | 'stop' | 'none' | 'refuse'

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
const REFUSED: Cell = { does: 'refuse', says: 'SESSION_ENDED' }

export const DELIVERY_TABLE: Readonly<Record<Condition, Readonly<Record<Form, Cell>>>> = {
  'at-rest': {
    steer: STARTS,
    queue: STARTS,
    cancel: { does: 'act', says: 'cancels the turn that waiting messages are about to start; else no effect' },
    compact: { does: 'act', says: 'compacts' },
    clear: { does: 'act', says: 'clears' },
    end: { does: 'act', says: 'the session is COMPLETED' },
  },
  'model-silent': {
    steer: { does: 'interrupt', says: 'the call is stopped and made again with the message, in the same turn' },
    queue: WAITS,
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
    cancel: CANCELLED,
    compact: AFTER,
    clear: CANCELLED_AND_CLEARED,
    end: CANCELLED_AND_ENDED,
  },
  'backing-off': {
    steer: { does: 'join', says: 'joins; the call is made at its due time' },
    queue: WAITS,
    cancel: CANCELLED,
    compact: AFTER,
    clear: CANCELLED_AND_CLEARED,
    end: CANCELLED_AND_ENDED,
  },
  'tools-running': {
    steer: { does: 'join-later', says: 'the tools finish and keep their results; joins before the next call of the model' },
    queue: WAITS,
    cancel: { does: 'stop', says: 'their signals abort; the turn is CANCELLED when they answered, at the latest after `cancelGraceMs`' },
    compact: AFTER,
    clear: { does: 'stop', says: 'as cancel, then cleared' },
    end: { does: 'stop', says: 'as cancel, and the session CANCELLED' },
  },
  stopping: {
    steer: { does: 'wait', says: 'starts the next turn' },
    queue: { does: 'wait', says: 'starts the next turn' },
    cancel: { does: 'none', says: 'the same stop' },
    compact: AFTER,
    clear: { does: 'stop', says: 'clears after it' },
    end: { does: 'stop', says: 'the session is CANCELLED with the turn' },
  },
  ended: {
    steer: REFUSED,
    queue: REFUSED,
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
      return phase.stopping === null ? 'tools-running' : 'stopping'
    case 'ended':
      return 'ended'
  }
}

export function formOf({ phase }: Checkpoint, delivery: Delivery): Form {
  if (delivery.kind === 'MESSAGE') {
    const turn = 'turn' in phase ? phase.turn : null
    return (turn === null ? delivery.policy === 'STEER' : steers(delivery, turn.principal)) ? 'steer' : 'queue'
  }
  return FORM_OF[delivery.kind]
}

const FORM_OF = { CANCEL: 'cancel', COMPACT: 'compact', CLEAR: 'clear', END: 'end' } as const
