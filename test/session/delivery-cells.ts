/** The cells of the table of deliveries: what a session is at, what arrives, and what is to be seen afterwards. */
import { storedId } from '../../server/ids.js'
import type { Phase } from '../../server/session/checkpoint.js'
import type { CallRow } from '../../server/session/commit.js'
import type { DeliveryContent } from '../../server/session/deliveries.js'
import type { Condition, Form } from '../../server/session/delivery-table.js'
import type { Block } from '../../server/session/outcomes.js'
import { NO_ANSWER, type Request } from '../../server/session/requests.js'
import type { SessionStatus } from '../../server/session/status.js'
import { NOW, acting, asks, givenTurn, modelling, openCall, rowsOf } from '../support/given.js'

export interface Outcome {
  /** What became of the delivery; `waits`: it stays in the inbox. */
  readonly delivery: 'APPLIED' | 'REJECTED' | 'waits'
  /** The turn that it is settled with. */
  readonly of: 'the open turn' | 'a new turn' | 'no turn'
  /** What became of the turn that was open. */
  readonly turn: 'none was open' | 'goes on' | 'CANCELLED' | 'stopping'
  readonly status: SessionStatus
  /** What should be in flight afterwards. */
  readonly effects: readonly string[]
  /** What the model had said and history keeps. */
  readonly kept?: string
  /** The model reads nothing of before. */
  readonly cleared?: true
  /** The step that is under way afterwards is another one. */
  readonly asksAgain?: true
}

export const CONTENTS: Readonly<Record<Form, DeliveryContent>> = {
  steer: { kind: 'MESSAGE', text: 'and this', policy: 'STEER' },
  queue: { kind: 'MESSAGE', text: 'and this', policy: 'QUEUE' },
  answers: {
    kind: 'ANSWERS',
    answers: [{ ...NO_ANSWER, requestId: asks('work').id, decision: 'APPROVE', optionIds: ['continue'], reason: null }],
  },
  cancel: { kind: 'CANCEL', turnId: null, dropQueued: false },
  compact: { kind: 'COMPACT', instructions: null },
  clear: { kind: 'CLEAR' },
  end: { kind: 'END', reason: null },
}

export interface State {
  readonly phase: Phase
  readonly calls?: readonly CallRow[]
  readonly requests?: readonly Request[]
  readonly said?: readonly Block[]
}
const tool = [openCall('work', 'started')]
const asking = [openCall('work', 'asking')]
/** What arrives was sent before it. */
const approval = asks('work', { openedAfter: 1 })
const limit = asks('work', { kind: 'LIMIT', callId: null, openedAfter: 1 })
const SPOKEN: readonly Block[] = [{ id: storedId('blk', 'blk_said'), kind: 'text', text: 'Half an ans' }]
/** Of a condition that has several: all of them. */
export const STATES: Readonly<Record<Condition, Readonly<Record<string, State>>>> = {
  'at-rest': { CREATED: { phase: { kind: 'created' } }, IDLE: { phase: { kind: 'idle' } } },
  'model-silent': { 'a call in flight': { phase: modelling() } },
  'model-speaking': { 'a call in flight': { phase: modelling(), said: SPOKEN } },
  'backing-off': {
    'with its slot': { phase: modelling({ failures: 1, retryAt: NOW + 500 }) },
    'parked on a timer': { phase: modelling({ failures: 1, retryAt: NOW + 60_000 }, { activeSince: null }) },
  },
  'tools-running': { 'one call': { phase: acting(tool), calls: rowsOf(tool) } },
  'request-open': {
    'just asked': { phase: acting(asking), calls: rowsOf(asking), requests: [approval] },
    parked: { phase: acting(asking, { activeSince: null }), calls: rowsOf(asking), requests: [approval] },
  },
  'over-limit': {
    parked: { phase: { kind: 'held', turn: givenTurn({ activeSince: null }), request: limit.id }, requests: [limit] },
  },
  stopping: { 'one call': { phase: acting(tool, {}, { cause: 'cancel', until: NOW + 5000, clears: false }), calls: rowsOf(tool) } },
  ended: { COMPLETED: { phase: { kind: 'ended', status: 'COMPLETED', reason: 'ENDED' } } },
}

const starts = { delivery: 'APPLIED', of: 'a new turn', turn: 'none was open', status: 'RUNNING', effects: ['call-model'] } as const
const waits = { delivery: 'waits', of: 'no turn', turn: 'goes on', status: 'RUNNING' } as const
const joins = { ...waits, delivery: 'APPLIED', of: 'the open turn' } as const
const cancels = { delivery: 'APPLIED', of: 'the open turn', turn: 'CANCELLED', status: 'IDLE', effects: [] } as const
const clears = { ...cancels, cleared: true } as const
const ends = { ...cancels, of: 'no turn', status: 'CANCELLED' } as const
const stops = { ...cancels, turn: 'stopping', status: 'RUNNING', effects: ['run-tool, aborted'] } as const
const parks = { ...waits, status: 'WAITING_FOR_APPROVAL', effects: [] } as const
const isHeld = { ...waits, status: 'WAITING_FOR_INPUT', effects: [] } as const
const tooLate = { ...waits, delivery: 'REJECTED' } as const
const atRest = { delivery: 'APPLIED', of: 'no turn', turn: 'none was open', effects: [] } as const
const untouched = { ...atRest, delivery: 'waits', status: 'COMPLETED' } as const

/** At rest the status is the one of before: `as it was`. */
export const TABLE: Readonly<
  Record<Condition, Readonly<Record<Form, Omit<Outcome, 'status'> & { readonly status: SessionStatus | 'as it was' }>>>
> = {
  'at-rest': {
    steer: starts,
    queue: starts,
    answers: { ...atRest, delivery: 'REJECTED', status: 'as it was' },
    cancel: { ...atRest, status: 'as it was' },
    compact: { ...atRest, delivery: 'REJECTED', status: 'as it was' },
    clear: { ...atRest, status: 'as it was', cleared: true },
    end: { ...atRest, status: 'COMPLETED' },
  },
  'model-silent': {
    steer: { ...joins, effects: ['call-model'], asksAgain: true },
    queue: { ...waits, effects: ['call-model'] },
    answers: { ...tooLate, effects: ['call-model'] },
    cancel: cancels,
    compact: { ...waits, effects: ['call-model'] },
    clear: clears,
    end: ends,
  },
  'model-speaking': {
    steer: { ...waits, effects: ['call-model'] },
    queue: { ...waits, effects: ['call-model'] },
    answers: { ...tooLate, effects: ['call-model'] },
    cancel: { ...cancels, kept: 'Half an ans' },
    compact: { ...waits, effects: ['call-model'] },
    clear: { ...clears, kept: 'Half an ans' },
    end: { ...ends, kept: 'Half an ans' },
  },
  'backing-off': {
    steer: { ...joins, effects: [] },
    queue: { ...waits, effects: [] },
    answers: { ...tooLate, effects: [] },
    cancel: cancels,
    compact: { ...waits, effects: [] },
    clear: clears,
    end: ends,
  },
  'tools-running': {
    steer: { ...waits, effects: ['run-tool'] },
    queue: { ...waits, effects: ['run-tool'] },
    answers: { ...tooLate, effects: ['run-tool'] },
    cancel: stops,
    compact: { ...waits, effects: ['run-tool'] },
    clear: stops,
    end: { ...stops, of: 'no turn' },
  },
  'request-open': {
    steer: { ...joins, effects: ['call-model'] },
    queue: parks,
    answers: { ...joins, effects: ['run-tool'] },
    cancel: cancels,
    compact: parks,
    clear: clears,
    end: ends,
  },
  'over-limit': {
    steer: isHeld,
    queue: isHeld,
    answers: { ...joins, effects: ['call-model'] },
    cancel: cancels,
    compact: isHeld,
    clear: clears,
    end: ends,
  },
  stopping: {
    steer: { ...waits, turn: 'stopping', effects: ['run-tool, aborted'] },
    queue: { ...waits, turn: 'stopping', effects: ['run-tool, aborted'] },
    answers: { ...tooLate, turn: 'stopping', effects: ['run-tool, aborted'] },
    cancel: stops,
    compact: { ...waits, turn: 'stopping', effects: ['run-tool, aborted'] },
    clear: stops,
    end: { ...stops, of: 'no turn' },
  },
  ended: {
    steer: untouched,
    queue: untouched,
    answers: untouched,
    cancel: untouched,
    compact: untouched,
    clear: untouched,
    end: untouched,
  },
}
