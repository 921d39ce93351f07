/** The table of deliveries: what each form does in each condition, one test a cell. */
import { describe, expect, test } from 'vitest'
import { storedId } from '../../server/ids.js'
import { openTurnOf, type Phase } from '../../server/session/checkpoint.js'
import type { CallRow, Commit } from '../../server/session/commit.js'
import type { DeliveryContent } from '../../server/session/deliveries.js'
import { CONDITIONS, DELIVERY_TABLE, FORMS, conditionOf, formOf, type Condition, type Form } from '../../server/session/delivery-table.js'
import type { Block } from '../../server/session/outcomes.js'
import { addDeliveries, type Session } from '../../server/session/session.js'
import type { SessionStatus } from '../../server/session/status.js'
import { NOW, TURN, acting, delivery, givenSession, modelling, openCall, rowsOf } from '../support/given.js'
import { effectKinds, walk, type Walk } from './walk.js'

interface Outcome {
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

const CONTENTS: Readonly<Record<Form, DeliveryContent>> = {
  steer: { kind: 'MESSAGE', text: 'and this', policy: 'STEER' },
  queue: { kind: 'MESSAGE', text: 'and this', policy: 'QUEUE' },
  cancel: { kind: 'CANCEL', turnId: null, dropQueued: false },
  compact: { kind: 'COMPACT', instructions: null },
  clear: { kind: 'CLEAR' },
  end: { kind: 'END', reason: null },
}

interface State {
  readonly phase: Phase
  readonly calls?: readonly CallRow[]
  readonly said?: readonly Block[]
}
const tool = [openCall('work', 'started')]
const SPOKEN: readonly Block[] = [{ id: storedId('blk', 'blk_said'), kind: 'text', text: 'Half an ans' }]
/** Of a condition that has several: all of them. */
const STATES: Readonly<Record<Condition, Readonly<Record<string, State>>>> = {
  'at-rest': { CREATED: { phase: { kind: 'created' } }, IDLE: { phase: { kind: 'idle' } } },
  'model-silent': { 'a call in flight': { phase: modelling() } },
  'model-speaking': { 'a call in flight': { phase: modelling(), said: SPOKEN } },
  'backing-off': {
    'with its slot': { phase: modelling({ failures: 1, retryAt: NOW + 500 }) },
    'parked on a timer': { phase: modelling({ failures: 1, retryAt: NOW + 60_000 }, { activeSince: null }) },
  },
  'tools-running': { 'one call': { phase: acting(tool), calls: rowsOf(tool) } },
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
const atRest = { delivery: 'APPLIED', of: 'no turn', turn: 'none was open', effects: [] } as const
const untouched = { ...atRest, delivery: 'waits', status: 'COMPLETED' } as const

/** At rest the status is the one of before: `as it was`. */
const TABLE: Readonly<
  Record<Condition, Readonly<Record<Form, Omit<Outcome, 'status'> & { readonly status: SessionStatus | 'as it was' }>>>
> = {
  'at-rest': {
    steer: starts,
    queue: starts,
    cancel: { ...atRest, status: 'as it was' },
    compact: { ...atRest, delivery: 'REJECTED', status: 'as it was' },
    clear: { ...atRest, status: 'as it was', cleared: true },
    end: { ...atRest, status: 'COMPLETED' },
  },
  'model-silent': {
    steer: { ...joins, effects: ['call-model'], asksAgain: true },
    queue: { ...waits, effects: ['call-model'] },
    cancel: cancels,
    compact: { ...waits, effects: ['call-model'] },
    clear: clears,
    end: ends,
  },
  'model-speaking': {
    steer: { ...waits, effects: ['call-model'] },
    queue: { ...waits, effects: ['call-model'] },
    cancel: { ...cancels, kept: 'Half an ans' },
    compact: { ...waits, effects: ['call-model'] },
    clear: { ...clears, kept: 'Half an ans' },
    end: { ...ends, kept: 'Half an ans' },
  },
  'backing-off': {
    steer: { ...joins, effects: [] },
    queue: { ...waits, effects: [] },
    cancel: cancels,
    compact: { ...waits, effects: [] },
    clear: clears,
    end: ends,
  },
  'tools-running': {
    steer: { ...waits, effects: ['run-tool'] },
    queue: { ...waits, effects: ['run-tool'] },
    cancel: stops,
    compact: { ...waits, effects: ['run-tool'] },
    clear: stops,
    end: { ...stops, of: 'no turn' },
  },
  stopping: {
    steer: { ...waits, turn: 'stopping', effects: ['run-tool, aborted'] },
    queue: { ...waits, turn: 'stopping', effects: ['run-tool, aborted'] },
    cancel: stops,
    compact: { ...waits, turn: 'stopping', effects: ['run-tool, aborted'] },
    clear: stops,
    end: { ...stops, of: 'no turn' },
  },
  ended: { steer: untouched, queue: untouched, cancel: untouched, compact: untouched, clear: untouched, end: untouched },
}

function arrive({ phase, calls, said }: State, form: Form): { readonly before: Session; readonly after: Walk } {
  const before = givenSession({ phase, ...(calls && { calls }) })
  const arrived = delivery(1, CONTENTS[form], openTurnOf(before.checkpoint)?.id ?? null)
  return { before, after: walk(addDeliveries(before, [arrived]), { ...(said && { said }) }) }
}

function observe(before: Session, { session, commits, owed }: Walk): Outcome {
  const [settled] = commits.flatMap((commit) => commit.settled)
  const kept = commits.flatMap((commit) => commit.history).find((item) => item.role === 'assistant')
  const turnId = settled?.turnId ?? null
  return {
    delivery: settled?.status ?? 'waits',
    of: turnId === null ? 'no turn' : turnId === TURN ? 'the open turn' : 'a new turn',
    turn: becameOf(before, session, commits),
    status: session.status,
    effects: effectKinds(owed),
    ...(kept === undefined ? {} : { kept: kept.text }),
    ...(session.checkpoint.historyEpoch === before.checkpoint.historyEpoch ? {} : { cleared: true }),
    ...(stepOf(before) !== null && stepOf(session) !== null && stepOf(session) !== stepOf(before) ? { asksAgain: true } : {}),
  }
}

function stepOf({ checkpoint: { phase } }: Session): string | null {
  return phase.kind === 'modelling' ? phase.step.id : null
}

function becameOf(before: Session, session: Session, commits: readonly Commit[]): Outcome['turn'] {
  if (openTurnOf(before.checkpoint) === null) return 'none was open'
  const closed = commits.find((commit) => commit.closedTurn?.id === TURN)?.closedTurn
  if (closed != null) return closed.status === 'CANCELLED' ? 'CANCELLED' : 'goes on'
  const { phase } = session.checkpoint
  return phase.kind === 'acting' && phase.stopping !== null ? 'stopping' : 'goes on'
}

const cells = CONDITIONS.flatMap((condition) =>
  Object.entries(STATES[condition]).flatMap(([name, state]) => FORMS.map((form) => ({ condition, name, state, form }))),
)

test.each(cells)('while $condition ($name), $form: does what the table says', ({ condition, state, form }) => {
  const { before, after } = arrive(state, form)
  const expected = TABLE[condition][form]
  expect(observe(before, after)).toEqual({ ...expected, status: expected.status === 'as it was' ? before.status : expected.status })
  expect(conditionOf(before.checkpoint, state.said !== undefined)).toBe(condition)
  expect(formOf(before.checkpoint, delivery(1, CONTENTS[form], null))).toBe(form)
  const waiting = ['wait', 'join-later', 'refuse'].includes(DELIVERY_TABLE[condition][form].does)
  expect(waiting).toBe(expected.delivery === 'waits')
})

function eventTypes({ commits }: Walk): readonly string[] {
  return commits.flatMap((commit) => commit.events).map((event) => event.type)
}

const STOPPING = STATES.stopping['one call'] ?? { phase: { kind: 'idle' } }
const RUNNING = STATES['tools-running']['one call'] ?? { phase: { kind: 'idle' } }

describe('after the grace', () => {
  test('a message that came while stopping starts the next turn', () => {
    const { session } = arrive(STOPPING, 'steer').after
    const later = walk(session, { now: NOW + 5000 })
    expect(eventTypes(later)).toContain('TURN_CANCELLED')
    expect(effectKinds(later.owed)).toEqual(['call-model'])
    expect(openTurnOf(later.session.checkpoint)?.number).toBe(2)
  })

  test('an end that came while a tool ran ends the session as CANCELLED', () => {
    const { session } = arrive(RUNNING, 'end').after
    const later = walk(session, { now: NOW + 10_000 })
    expect(later.session.status).toBe('CANCELLED')
    expect(eventTypes(later)).toEqual(['TOOL_CALL_END', 'TURN_CANCELLED', 'SESSION_CANCELLED'])
  })

  test.each([
    { when: 'while a tool ran', state: RUNNING, graceMs: 10_000 },
    { when: 'while the turn was stopped already', state: STOPPING, graceMs: 5000 },
  ])('a clear that came $when clears after the turn', ({ state, graceMs }) => {
    const { before, after } = arrive(state, 'clear')
    const later = walk(after.session, { now: NOW + graceMs })
    expect(eventTypes(later)).toEqual(['TOOL_CALL_END', 'TURN_CANCELLED', 'CONTEXT_CLEARED', 'SESSION_WAITING'])
    expect(later.session.checkpoint).toMatchObject({ historyEpoch: before.checkpoint.historyEpoch + 1, historyLength: 0 })
  })
})
