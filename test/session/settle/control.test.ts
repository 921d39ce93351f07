/** Cancel, clear, compact and end: what they are bound to, and what they take along. */
import { describe, expect, test } from 'vitest'
import { storedId } from '../../../server/ids.js'
import {
  ALICE,
  BOB,
  NOW,
  TURN,
  acting,
  answered,
  cancel,
  delivery,
  end,
  givenSession,
  message,
  modelling,
  openCall,
  rowsOf,
} from '../../support/given.js'
import { effectKinds, eventTypes, walk } from '../walk.js'
import type { Commit } from '../../../server/session/commit.js'
import type { Delivery } from '../../../server/session/deliveries.js'
import { limits } from '../../support/given.js'

const OTHER_TURN = storedId('turn', 'turn_other')

function clear(position: number): Delivery {
  return delivery(position, { kind: 'CLEAR' }, null)
}

function compact(position: number): Delivery {
  return delivery(position, { kind: 'COMPACT', instructions: null }, null)
}

function queue(position: number): Delivery {
  return { ...message(position), policy: 'QUEUE' }
}

function settledAs(commits: readonly Commit[]): Readonly<Record<string, string>> {
  const settled = commits.flatMap((commit) => commit.settled)
  return Object.fromEntries(settled.map(({ id, status, rejection }) => [id, rejection === null ? status : `${status} ${rejection.code}`]))
}

describe('a cancel', () => {
  test('keeps what the model had said: completed as interrupted, in the log and in history', () => {
    const { blocks } = answered('Half an ans')
    const session = givenSession({ phase: modelling(), deliveries: [cancel(1, { openTurnId: TURN })] })
    const { commits } = walk(session, { said: blocks })
    expect(commits).toHaveLength(1)
    expect(commits[0]?.events).toMatchObject([
      { type: 'MESSAGE_COMPLETED', data: { text: 'Half an ans', interrupted: true } },
      { type: 'STEP_INTERRUPTED', data: { reason: 'CANCELLED' } },
      { type: 'DELIVERY_SETTLED' },
      { type: 'TURN_CANCELLED', data: { output: 'Half an ans' } },
      { type: 'SESSION_WAITING' },
    ])
    expect(commits[0]?.history).toEqual([{ role: 'assistant', text: 'Half an ans', calls: [], interrupted: true }])
    expect(commits[0]?.closedStep).toMatchObject({ status: 'INTERRUPTED', text: 'Half an ans' })
  })

  test('of a silent model leaves nothing in history', () => {
    const { commits } = walk(givenSession({ phase: modelling(), deliveries: [cancel(1, { openTurnId: TURN })] }))
    expect(commits[0]?.history).toEqual([])
  })

  test('of a turn that parks on a timer closes it without interrupting an attempt that is over', () => {
    const phase = modelling({ failures: 1, retryAt: NOW + 60_000 }, { activeMs: 700, activeSince: null })
    const { commits } = walk(givenSession({ phase, deliveries: [cancel(1, { openTurnId: TURN })] }))
    expect(eventTypes(commits)).toEqual(['DELIVERY_SETTLED', 'TURN_CANCELLED', 'SESSION_WAITING'])
    expect(commits[0]?.closedTurn?.activeMs).toBe(700)
  })

  test('gives running tools its grace, and another one neither shortens nor prolongs it', () => {
    const calls = [openCall('work', 'started')]
    const session = givenSession({ phase: acting(calls), calls: rowsOf(calls), deliveries: [cancel(1, { openTurnId: TURN })] })
    const first = walk(session, { limits: limits({ cancelGraceMs: 3000 }) })
    expect(first.session.checkpoint.phase).toMatchObject({ stopping: { cause: 'cancel', until: NOW + 3000, clears: false } })
    const again = walk({ ...first.session, deliveries: [cancel(2, { openTurnId: TURN })] }, { now: NOW + 1000 })
    expect(again.session.checkpoint.phase).toMatchObject({ stopping: { cause: 'cancel', until: NOW + 3000, clears: false } })
  })

  test('without a grace settles running tools at once', () => {
    const calls = [openCall('work', 'started')]
    const session = givenSession({ phase: acting(calls), calls: rowsOf(calls), deliveries: [cancel(1, { openTurnId: TURN })] })
    const { commits } = walk(session, { limits: limits({ cancelGraceMs: 0 }) })
    expect(eventTypes(commits)).toEqual(['DELIVERY_SETTLED', 'TOOL_CALL_END', 'TURN_CANCELLED', 'SESSION_WAITING'])
  })

  test.each([
    ['that names another turn', { turnId: OTHER_TURN, openTurnId: TURN }],
    ['bound to a turn that has ended', { openTurnId: OTHER_TURN }],
    ['accepted when nothing was open and nothing waited', {}],
  ])('%s is applied without effect', (_, change) => {
    const { commits, owed } = walk(givenSession({ phase: modelling(), deliveries: [cancel(1, change)] }))
    expect(settledAs(commits)).toEqual({ dlv_1: 'APPLIED' })
    expect(commits[0]?.settled[0]?.turnId).toBeNull()
    expect(effectKinds(owed)).toEqual(['call-model'])
  })

  test('of a turn that has not started is one commit: started, received, cancelled, and the model is never called', () => {
    const { session, commits, owed } = walk(givenSession({ phase: { kind: 'created' }, deliveries: [message(1, 'Go'), cancel(2)] }))
    expect(commits).toHaveLength(1)
    expect(eventTypes(commits)).toEqual([
      'SESSION_STARTED',
      'TURN_STARTED',
      'MESSAGE_RECEIVED',
      'DELIVERY_SETTLED',
      'DELIVERY_SETTLED',
      'TURN_CANCELLED',
      'SESSION_WAITING',
    ])
    expect(commits[0]).toMatchObject({
      openedStep: null,
      history: [{ role: 'user', text: 'Go' }],
      openedTurn: { id: commits[0]?.closedTurn?.id },
    })
    expect(session.status).toBe('IDLE')
    expect(owed.kind).toBe('park')
  })

  test('of a turn that has not started takes the messages before it, and those after it start the next', () => {
    const deliveries = [message(1, 'one'), message(2, 'two'), cancel(3), message(4, 'three')]
    const { session, commits, owed } = walk(givenSession({ phase: { kind: 'idle' }, deliveries }))
    expect(commits.map((commit) => commit.openedTurn?.userInput)).toEqual(['one\n\ntwo', 'three'])
    expect(session.checkpoint.turns).toBe(3)
    expect(effectKinds(owed)).toEqual(['call-model'])
  })

  test('with dropQueued rejects what waits before it, of whomever, and nothing after it', () => {
    const deliveries = [message(1, 'a'), message(2, 'b', BOB), cancel(3, { openTurnId: TURN, dropQueued: true }), message(4, 'c')]
    const { commits } = walk(givenSession({ phase: modelling(), deliveries }))
    expect(settledAs(commits)).toEqual({ dlv_3: 'APPLIED', dlv_1: 'REJECTED DROPPED', dlv_2: 'REJECTED DROPPED', dlv_4: 'APPLIED' })
  })

  test('with dropQueued of a turn that has not started applies its messages and rejects the others', () => {
    const deliveries = [message(1, 'a'), message(2, 'b', BOB), cancel(3, { dropQueued: true })]
    const { commits } = walk(givenSession({ phase: { kind: 'idle' }, deliveries }))
    expect(settledAs(commits)).toEqual({ dlv_1: 'APPLIED', dlv_2: 'REJECTED DROPPED', dlv_3: 'APPLIED' })
  })

  test('without dropQueued leaves queued messages to start the next turn', () => {
    const session = givenSession({ phase: modelling(), deliveries: [message(1, 'next'), cancel(2, { openTurnId: TURN })] })
    const { commits, owed } = walk(session)
    expect(eventTypes(commits)).toEqual([
      'STEP_INTERRUPTED',
      'DELIVERY_SETTLED',
      'TURN_CANCELLED',
      'TURN_STARTED',
      'MESSAGE_RECEIVED',
      'DELIVERY_SETTLED',
      'STEP_STARTED',
    ])
    expect(effectKinds(owed)).toEqual(['call-model'])
  })
})

describe('a clear', () => {
  test('begins an empty history, and takes along what waited for the old one; later messages stay', () => {
    const deliveries = [message(1, 'queued', BOB), clear(2), message(3, 'anew')]
    const { session, commits } = walk(givenSession({ phase: modelling(), historyLength: 7, deliveries }), { said: answered('Half').blocks })
    expect(settledAs(commits)).toEqual({ dlv_1: 'REJECTED CLEARED', dlv_2: 'APPLIED', dlv_3: 'APPLIED' })
    expect(commits[0]).toMatchObject({
      closedTurn: { status: 'CANCELLED', output: 'Half' },
      history: [{ role: 'assistant', text: 'Half', interrupted: true }],
      historyFrom: { epoch: 1, position: 7 },
      newEpoch: { epoch: 2, kind: 'CLEAR' },
    })
    expect(commits[1]).toMatchObject({ history: [{ role: 'user', text: 'anew' }], historyFrom: { epoch: 2, position: 0 }, newEpoch: null })
    expect(session.checkpoint).toMatchObject({ historyEpoch: 2, historyLength: 1, turns: 2 })
  })

  test('of a session before its first turn drops what was imported, and leaves it before its first turn', () => {
    const { session, commits } = walk(givenSession({ phase: { kind: 'created' }, historyLength: 4, deliveries: [clear(1)] }))
    expect(eventTypes(commits)).toEqual(['DELIVERY_SETTLED', 'CONTEXT_CLEARED'])
    expect(session).toMatchObject({ status: 'CREATED', checkpoint: { historyLength: 0, phase: { kind: 'created' } } })
  })

  test('and an end before it is through: the session ends with the turn', () => {
    const calls = [openCall('work', 'started')]
    const { session } = walk(givenSession({ phase: acting(calls), calls: rowsOf(calls), deliveries: [clear(1), end(2)] }))
    const later = walk(session, { now: NOW + 10_000 })
    expect(later.session.status).toBe('CANCELLED')
    expect(eventTypes(later.commits)).toEqual(['TOOL_CALL_END', 'TURN_CANCELLED', 'CONTEXT_CLEARED', 'SESSION_CANCELLED'])
  })
})

describe('a compact', () => {
  test('waits for the turn, and for no message that came after it', () => {
    const deliveries = [compact(1), message(2, 'queued', BOB)]
    const { session } = walk(givenSession({ phase: modelling(), deliveries }))
    expect(session.deliveries).toHaveLength(2)
    const { commits } = walk(givenSession({ phase: { kind: 'idle' }, deliveries }))
    expect(eventTypes(commits).slice(0, 2)).toEqual(['DELIVERY_SETTLED', 'TURN_STARTED'])
    expect(settledAs(commits)).toEqual({ dlv_1: 'REJECTED COMPACTION_UNAVAILABLE', dlv_2: 'APPLIED' })
  })

  test('between two messages of one person parts their turns', () => {
    const { commits } = walk(givenSession({ phase: { kind: 'idle' }, deliveries: [queue(1), compact(2), queue(3)] }))
    expect(commits[0]?.openedTurn).toMatchObject({ userInput: 'message 1' })
  })
})

describe('an end', () => {
  test('at rest completes the session and rejects the messages that wait', () => {
    const deliveries = [message(1), message(2, 'b', BOB), end(3)]
    const { session, commits } = walk(givenSession({ phase: { kind: 'idle' }, deliveries }))
    expect(session.status).toBe('COMPLETED')
    expect(settledAs(commits)).toEqual({ dlv_3: 'APPLIED', dlv_1: 'REJECTED ENDED', dlv_2: 'REJECTED ENDED' })
    expect(eventTypes(commits).at(-1)).toBe('SESSION_COMPLETED')
  })

  test('of an open turn cancels it, and the session with it', () => {
    const { session, commits } = walk(givenSession({ phase: modelling(), deliveries: [end(1)] }))
    expect(session.status).toBe('CANCELLED')
    expect(commits[0]).toMatchObject({ closedTurn: { status: 'CANCELLED' }, session: { end: { reason: 'ENDED' } }, guard: 'inbox' })
  })

  test('answers the other controls that wait, too', () => {
    const deliveries = [end(1), cancel(2, { openTurnId: TURN }), end(3)]
    expect(settledAs(walk(givenSession({ phase: modelling(), deliveries })).commits)).toEqual({
      dlv_1: 'APPLIED',
      dlv_2: 'APPLIED',
      dlv_3: 'APPLIED',
    })
  })

  test('while cancelling stays an end, and does not prolong the grace', () => {
    const calls = [openCall('work', 'started')]
    const phase = acting(calls, {}, { cause: 'cancel', until: NOW + 500, clears: false })
    const { session } = walk(givenSession({ phase, calls: rowsOf(calls), deliveries: [end(1), message(2, 'late', ALICE)] }))
    expect(session.checkpoint.phase).toMatchObject({ stopping: { cause: 'end', until: NOW + 500, clears: false } })
    const later = walk(session, { now: NOW + 500 })
    expect(later.session.status).toBe('CANCELLED')
    expect(settledAs(later.commits)).toEqual({ dlv_2: 'REJECTED ENDED' })
  })

  test('is not undone by a cancel that comes later', () => {
    const calls = [openCall('work', 'started')]
    const phase = acting(calls, {}, { cause: 'end', until: NOW + 500, clears: false })
    const { session } = walk(givenSession({ phase, calls: rowsOf(calls), deliveries: [cancel(2, { openTurnId: TURN })] }))
    expect(session.checkpoint.phase).toMatchObject({ stopping: { cause: 'end' } })
  })
})
