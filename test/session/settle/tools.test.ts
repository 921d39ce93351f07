/** What follows from the calls of a step. */
import { describe, expect, test } from 'vitest'
import type { OpenCall, Stopping } from '../../../server/session/checkpoint.js'
import type { Commit } from '../../../server/session/commit.js'
import type { ToolEnded } from '../../../server/session/outcomes.js'
import { applyCommit, type Session } from '../../../server/session/session.js'
import { settleOutcomes } from '../../../server/session/settle/settle.js'
import { checkCommit } from '../../../server/store/check-commit.js'
import { NOW, acting, ended, givenSession, limits, openCall, rowsOf, settlingAt } from '../../support/given.js'
import { effectKinds, eventTypes, walk, withParking, type WalkOptions } from '../walk.js'

function stepOf(calls: readonly OpenCall[], stopping: Stopping | null = null, turn = {}): Session {
  return givenSession({ phase: acting(calls, turn, stopping), calls: rowsOf(calls) })
}

function settle(session: Session, outcomes: readonly ToolEnded[], options: WalkOptions = {}): Commit {
  const { now = NOW, ...rest } = options
  const commit = settleOutcomes(session, outcomes, settlingAt(now, rest))
  if (commit === null) throw new Error('nothing was settled')
  const whole = withParking(session, commit, options)
  checkCommit(session, whole)
  return whole
}

function toolItems(commit: Commit): readonly string[] {
  return commit.history.flatMap((item) => (item.role === 'tool' ? [`${item.name}: ${item.text}`] : []))
}

describe('results', () => {
  const calls = [openCall('one', 'started'), openCall('two', 'started'), openCall('three', 'started')]

  test('are kept in their calls as they come; the model is asked when the last one is there', () => {
    const first = settle(stepOf(calls), [ended('three')])
    expect(first).toMatchObject({ history: [], changedCalls: [{ name: 'three', status: 'COMPLETED' }], guard: 'none' })
    expect(first.checkpoint.phase.kind).toBe('acting')
  })

  test.each([[['one', 'two', 'three']], [['three', 'two', 'one']], [['two', 'three', 'one']]])(
    'that come as %j go to history in call order',
    (order) => {
      let session = stepOf(calls)
      let last: Commit | null = null
      for (const name of order) {
        last = settle(session, [ended(name)])
        session = applyCommit(session, last)
      }
      expect(last === null ? [] : toolItems(last)).toEqual(['one: result of one', 'two: result of two', 'three: result of three'])
      expect(session.checkpoint.phase).toMatchObject({ kind: 'modelling', step: { index: 1 } })
    },
  )

  test('that are ready together are one commit, with the next call of the model', () => {
    const commit = settle(stepOf(calls), [ended('two'), ended('one'), ended('three')])
    expect(eventTypes([commit])).toEqual(['TOOL_CALL_END', 'TOOL_CALL_END', 'TOOL_CALL_END', 'STEP_STARTED'])
    expect(commit.guard).toBe('control')
  })

  test('of failed calls are errors for the model, and the step goes on', () => {
    const failure = { code: 'TOOL_FAILED', message: 'no such order', retryable: false }
    const result = { output: null, text: failure.message, error: failure, truncatedBytes: 0, endedAt: NOW }
    const commit = settle(stepOf([openCall('one', 'started')]), [ended('one', { status: 'FAILED', result })])
    expect(commit.history).toMatchObject([{ role: 'tool', text: 'no such order', isError: true }])
    expect(commit.checkpoint.phase.kind).toBe('modelling')
  })

  test('of a call that has ended change nothing', () => {
    const session = stepOf([openCall('one', 'ended'), openCall('two', 'started')])
    expect(settle(session, [ended('one')])).toMatchObject({ events: [], changedCalls: [], history: [] })
  })

  test('that come when no call is open are dropped', () => {
    expect(settleOutcomes(givenSession({ phase: { kind: 'idle' } }), [ended('one')], settlingAt())).toBeNull()
  })
})

describe('a sequential call', () => {
  const names = (owed: ReturnType<typeof walk>['owed']) => (owed.kind === 'effects' ? owed.effects.map((effect) => effect.key) : [])

  test('runs alone, nothing overtakes it, and the order of the calls is kept', () => {
    let session = stepOf([
      openCall('a', 'requested'),
      openCall('b', 'requested'),
      openCall('alone', 'requested', { sequential: true }),
      openCall('c', 'requested'),
      openCall('d', 'requested'),
    ])
    const running: string[][] = []
    const finish = ['b', 'a', 'alone', 'd', 'c']
    for (const name of finish) {
      const walked = walk(session)
      running.push([...names(walked.owed)])
      session = applyCommit(walked.session, settle(walked.session, [ended(name)]))
    }
    expect(running).toEqual([['call_a', 'call_b'], ['call_a'], ['call_alone'], ['call_c', 'call_d'], ['call_c']])
    expect(session.checkpoint.phase.kind).toBe('modelling')
  })

  test('is recorded as started only when it begins (R3)', () => {
    const session = stepOf([openCall('one', 'started', { sequential: true }), openCall('two', 'requested', { sequential: true })])
    const commit = settle(session, [ended('one')])
    expect(eventTypes([commit])).toEqual(['TOOL_CALL_END', 'TOOL_CALL_START'])
    expect(commit.changedCalls.map(({ name, status }) => [name, status])).toEqual([
      ['one', 'COMPLETED'],
      ['two', 'RUNNING'],
    ])
    expect(commit.guard).toBe('control')
  })
})

describe('the limit of iterations', () => {
  const limited = limits({ maxIterationsPerTurn: 3 })

  test('fails the turn after the results of its last step, which history keeps', () => {
    const commit = settle(stepOf([openCall('one', 'started')], null, { steps: 3 }), [ended('one')], { limits: limited })
    expect(commit.closedTurn).toMatchObject({ status: 'FAILED', error: { code: 'TURN_ITERATION_LIMIT' } })
    expect(toolItems(commit)).toEqual(['one: result of one'])
    expect(commit.session).toMatchObject({ status: 'IDLE', end: null })
  })

  test('lets the last of its calls of the model be made', () => {
    const commit = settle(stepOf([openCall('one', 'started')], null, { steps: 2 }), [ended('one')], { limits: limited })
    expect(commit.checkpoint.phase).toMatchObject({ kind: 'modelling', turn: { steps: 3 }, step: { index: 2 } })
  })
})

describe('a turn whose time is over while tools run', () => {
  const limited = limits({ turnTimeoutMs: 5000, cancelGraceMs: 2000 })
  const calls = [openCall('done', 'ended'), openCall('slow', 'started')]

  test('tells them, and gives them the grace', () => {
    const { session, owed } = walk(stepOf(calls), { limits: limited, now: NOW + 4000 })
    expect(session.checkpoint.phase).toMatchObject({ stopping: { cause: 'timeout', until: NOW + 6000, clears: false } })
    expect(owed).toMatchObject({ effects: [{ callId: 'call_slow', aborted: true }], dueAt: NOW + 6000 })
  })

  test('fails when the grace is over, with a result for each call (H1)', () => {
    const stopping = { cause: 'timeout', until: NOW + 6000, clears: false } as const
    const { commits } = walk(stepOf(calls, stopping), { limits: limited, now: NOW + 6000 })
    expect(eventTypes(commits)).toEqual(['TOOL_CALL_END', 'TURN_FAILED', 'SESSION_WAITING'])
    expect(commits[0]).toMatchObject({
      closedTurn: { error: { code: 'TURN_TIMEOUT' } },
      changedCalls: [{ name: 'slow', status: 'CANCELLED' }],
      history: [
        { name: 'done', isError: false },
        { name: 'slow', isError: true },
      ],
    })
  })

  test('fails as soon as they have answered, and keeps what they answered', () => {
    const commit = settle(stepOf(calls, { cause: 'timeout', until: NOW + 6000, clears: false }), [ended('slow')], {
      limits: limited,
      now: NOW + 4500,
    })
    expect(toolItems(commit)).toEqual(['done: result of done', 'slow: result of slow'])
    expect(commit.closedTurn).toMatchObject({ status: 'FAILED', error: { code: 'TURN_TIMEOUT' } })
  })
})

describe('a step that is being stopped', () => {
  const stopping = { cause: 'cancel', until: NOW + 5000, clears: false } as const

  test('begins none of its calls any more', () => {
    const calls = [openCall('runs', 'started', { sequential: true }), openCall('waits', 'requested')]
    const commit = settle(stepOf(calls, stopping), [ended('runs', { status: 'CANCELLED' })])
    expect(eventTypes([commit])).toEqual(['TOOL_CALL_END', 'TOOL_CALL_END', 'TURN_CANCELLED', 'SESSION_WAITING'])
    expect(commit.history).toMatchObject([
      { name: 'runs', isError: true },
      { name: 'waits', isError: true, text: expect.stringMatching(/before the call ran/) },
    ])
  })

  test('waits for all that run', () => {
    const calls = [openCall('one', 'started'), openCall('two', 'started')]
    const session = stepOf(calls, stopping)
    const after = applyCommit(session, settle(session, [ended('one')]))
    expect(effectKinds(walk(after).owed)).toEqual(['run-tool, aborted'])
  })

  test('drops a result that comes after it was settled without it', () => {
    const session = stepOf([openCall('slow', 'started')], stopping)
    const after = walk(session, { now: NOW + 5000 }).session
    expect(settleOutcomes(after, [ended('slow')], settlingAt(NOW + 5001))).toBeNull()
  })
})
