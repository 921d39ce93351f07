/** After a crash: what the next worker makes of what was committed (R2, R3). A smaller epoch is the dead worker's. */
import { describe, expect, test } from 'vitest'
import type { OpenCall } from '../../../server/session/checkpoint.js'
import { next } from '../../../server/session/next.js'
import { MAX_TAKEOVERS } from '../../../server/session/retry.js'
import type { Session } from '../../../server/session/session.js'
import {
  EPOCH,
  LIMITS,
  NOW,
  STEP,
  acting,
  cancel,
  end,
  givenSession,
  message,
  modelling,
  openCall,
  rowsOf,
  TURN,
} from '../../support/given.js'
import { effectKinds, eventTypes, walk } from '../walk.js'

const DEAD = EPOCH - 1
const circumstances = { now: NOW, limits: LIMITS, draining: false, isSpeaking: false }

function withCalls(calls: readonly OpenCall[], turn = {}): Session {
  return givenSession({ phase: acting(calls, turn), calls: rowsOf(calls) })
}

describe('a worker that was lost', () => {
  test('before a commit of what it had done leaves the last commit standing', () => {
    expect(effectKinds(walk(givenSession({ phase: { kind: 'created' }, deliveries: [message(1)] })).owed)).toEqual(['call-model'])
  })

  test('in a model call: the attempt is interrupted, and the same step is called again as the next attempt', () => {
    const { session, commits, owed } = walk(givenSession({ phase: modelling({ epoch: DEAD }) }))
    expect(commits).toHaveLength(1)
    expect(commits[0]?.events).toMatchObject([
      { type: 'STEP_INTERRUPTED', data: { reason: 'WORKER_LOST' }, stepIndex: 0, attempt: 1 },
      { type: 'STEP_STARTED', stepIndex: 0, attempt: 2 },
    ])
    expect(commits[0]?.openedStep).toMatchObject({ id: STEP, index: 0, attempt: 2 })
    expect(session.checkpoint.phase).toMatchObject({ turn: { takeovers: 1, steps: 1 }, step: { id: STEP, attempt: 2, epoch: EPOCH } })
    expect(effectKinds(owed)).toEqual(['call-model'])
  })

  test('in a back-off leaves the attempt closed: nothing is interrupted, no takeover is counted', () => {
    const { session, commits, owed } = walk(givenSession({ phase: modelling({ epoch: DEAD, failures: 1, retryAt: NOW - 1 }) }))
    expect(eventTypes(commits)).toEqual(['STEP_STARTED'])
    expect(session.checkpoint.phase).toMatchObject({ turn: { takeovers: 0 }, step: { attempt: 2, epoch: EPOCH, failures: 1 } })
    expect(effectKinds(owed)).toEqual(['call-model'])
  })

  test('running a tool: the call is ABANDONED and not run again, and the model is told (R3)', () => {
    const { commits, owed } = walk(withCalls([openCall('pay', 'started', { epoch: DEAD })]))
    expect(commits[0]?.events[0]).toMatchObject({ type: 'TOOL_CALL_END', data: { name: 'pay', status: 'ABANDONED' } })
    expect(commits[0]?.history).toMatchObject([
      { role: 'tool', name: 'pay', isError: true, text: expect.stringMatching(/may have taken effect/) },
    ])
    expect(commits[0]?.changedCalls).toMatchObject([{ name: 'pay', status: 'ABANDONED', result: { error: { code: 'TOOL_ABANDONED' } } }])
    expect(effectKinds(owed)).toEqual(['call-model'])
  })

  test('running an idempotent tool: it runs again under its id, and its start is not recorded twice', () => {
    const call = openCall('look', 'started', { epoch: DEAD, idempotent: true })
    const { commits, owed } = walk(withCalls([call]))
    expect(eventTypes(commits)).toEqual([])
    expect(owed).toMatchObject({ kind: 'effects', effects: [{ kind: 'run-tool', callId: call.id, aborted: false }] })
  })

  test('about to run a tool, start not recorded: it runs', () => {
    const { commits, owed } = walk(withCalls([openCall('pay', 'requested')]))
    expect(commits[0]?.events).toMatchObject([{ type: 'TOOL_CALL_START', data: { name: 'pay' } }])
    expect(commits[0]?.changedCalls).toMatchObject([{ name: 'pay', status: 'RUNNING', startedAt: NOW }])
    expect(effectKinds(owed)).toEqual(['run-tool'])
  })

  test('in the middle of several tools: those with a committed result keep it', () => {
    const calls = [openCall('first', 'ended'), openCall('second', 'started', { epoch: DEAD })]
    const { commits } = walk(withCalls(calls))
    expect(commits[0]?.history).toMatchObject([
      { role: 'tool', name: 'first', text: 'result of first', isError: false },
      { role: 'tool', name: 'second', isError: true },
    ])
  })

  test('in the middle of several tools: what had not begun begins with the recovery, in the same commit', () => {
    const calls = [openCall('lost', 'started', { epoch: DEAD, sequential: true }), openCall('later', 'requested')]
    const { commits, owed } = walk(withCalls(calls))
    expect(commits).toHaveLength(1)
    expect(eventTypes(commits)).toEqual(['TOOL_CALL_END', 'TOOL_CALL_START'])
    expect(effectKinds(owed)).toEqual(['run-tool'])
  })

  test('while a cancelled tool had its grace: even an idempotent one is not run again', () => {
    const calls = [openCall('look', 'started', { epoch: DEAD, idempotent: true })]
    const session = givenSession({ phase: acting(calls, {}, { cause: 'cancel', until: NOW + 5000, clears: false }), calls: rowsOf(calls) })
    const { commits, owed } = walk(session)
    expect(eventTypes(commits)).toEqual(['TOOL_CALL_END', 'TURN_CANCELLED', 'SESSION_WAITING'])
    expect(commits[0]?.events[0]).toMatchObject({ data: { status: 'ABANDONED' } })
    expect(owed.kind).toBe('park')
  })

  test('while a session was ending: the session ends', () => {
    const calls = [openCall('work', 'started', { epoch: DEAD })]
    const session = givenSession({ phase: acting(calls, {}, { cause: 'end', until: NOW + 5000, clears: false }), calls: rowsOf(calls) })
    expect(eventTypes(walk(session).commits)).toEqual(['TOOL_CALL_END', 'TURN_CANCELLED', 'SESSION_CANCELLED'])
  })
})

describe('a control that waits when the session is taken over', () => {
  test('cancels the turn before the model is called again', () => {
    const session = givenSession({ phase: modelling({ epoch: DEAD }), deliveries: [cancel(1, { openTurnId: TURN })] })
    const { commits, owed } = walk(session)
    expect(eventTypes(commits)).toEqual(['STEP_INTERRUPTED', 'DELIVERY_SETTLED', 'TURN_CANCELLED', 'SESSION_WAITING'])
    expect(owed.kind).toBe('park')
  })

  test('ends the session without running an idempotent tool again', () => {
    const calls = [openCall('look', 'started', { epoch: DEAD, idempotent: true })]
    const { commits } = walk(givenSession({ phase: acting(calls), calls: rowsOf(calls), deliveries: [end(1)] }))
    expect(eventTypes(commits)).toEqual(['DELIVERY_SETTLED', 'TOOL_CALL_END', 'TURN_CANCELLED', 'SESSION_CANCELLED'])
  })
})

describe('the fourth takeover with work in flight', () => {
  const turn = { takeovers: MAX_TAKEOVERS }

  test('of a model call fails the turn with STEP_INTERRUPTED', () => {
    const { session, commits } = walk(givenSession({ phase: modelling({ epoch: DEAD }, turn) }))
    expect(eventTypes(commits)).toEqual(['STEP_INTERRUPTED', 'TURN_FAILED', 'SESSION_WAITING'])
    expect(commits[0]?.closedTurn).toMatchObject({ status: 'FAILED', error: { code: 'STEP_INTERRUPTED' } })
    expect(commits[0]?.closedStep).toMatchObject({ status: 'INTERRUPTED' })
    expect(session.status).toBe('IDLE')
  })

  test('of a tool fails the turn, and every call of the step has a result (H1)', () => {
    const calls = [
      openCall('done', 'ended'),
      openCall('look', 'started', { epoch: DEAD, idempotent: true }),
      openCall('next', 'requested', { sequential: true }),
    ]
    const { commits } = walk(withCalls(calls, turn))
    expect(commits[0]?.closedTurn).toMatchObject({ status: 'FAILED', error: { code: 'STEP_INTERRUPTED' } })
    expect(commits[0]?.changedCalls.map(({ name, status }) => [name, status])).toEqual([
      ['look', 'ABANDONED'],
      ['next', 'CANCELLED'],
    ])
    expect(commits[0]?.history.map((item) => item.role === 'tool' && item.name)).toEqual(['done', 'look', 'next'])
  })

  test('is not one when nothing was in flight', () => {
    const phase = modelling({ epoch: DEAD, failures: 1, retryAt: NOW - 1 }, turn)
    expect(effectKinds(walk(givenSession({ phase })).owed)).toEqual(['call-model'])
  })

  test('comes after three that went on', () => {
    const phase = modelling({ epoch: DEAD }, { takeovers: MAX_TAKEOVERS - 1 })
    expect(effectKinds(walk(givenSession({ phase })).owed)).toEqual(['call-model'])
  })
})

describe('no control is overlooked (R4)', () => {
  test('by the commit that calls the model again', () => {
    expect(walk(givenSession({ phase: modelling({ epoch: DEAD }) })).commits[0]?.guard).toBe('control')
  })

  test('by the commit that lets an idempotent tool run again', () => {
    const session = withCalls([openCall('look', 'started', { epoch: DEAD, idempotent: true })])
    expect(next(session, circumstances)).toMatchObject({ transition: { kind: 'recover-tools' } })
    expect(walk(session).commits[0]?.guard).toBe('control')
  })
})
