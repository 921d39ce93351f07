/** The table of deliveries: what each form does in each condition, one test a cell. */
import { describe, expect, test } from 'vitest'
import { openTurnOf } from '../../server/session/checkpoint.js'
import type { Commit } from '../../server/session/commit.js'
import { CONDITIONS, DELIVERY_TABLE, FORMS, conditionOf, formOf, type Form } from '../../server/session/delivery-table.js'
import { addDeliveries, type Session } from '../../server/session/session.js'
import { NOW, TURN, delivery, givenSession } from '../support/given.js'
import { CONTENTS, STATES, TABLE, type Outcome, type State } from './delivery-cells.js'
import { effectKinds, walk, type Walk } from './walk.js'

function arrive({ phase, calls, requests, said }: State, form: Form): { readonly before: Session; readonly after: Walk } {
  const before = givenSession({ phase, ...(calls && { calls }), ...(requests && { requests }) })
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
  expect(formOf(before, delivery(1, CONTENTS[form], null))).toBe(form)
  const { does } = DELIVERY_TABLE[condition][form]
  // What is refused when it is handed over and yet is there has lost a race: an answer is rejected, anything else stays.
  const waiting = does === 'refuse' ? form !== 'answers' || condition === 'ended' : ['wait', 'join-later'].includes(does)
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
