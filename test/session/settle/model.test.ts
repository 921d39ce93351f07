/** What follows from a call of the model. */
import { describe, expect, test } from 'vitest'
import type { Commit } from '../../../server/session/commit.js'
import type { Outcome } from '../../../server/session/outcomes.js'
import type { Session } from '../../../server/session/session.js'
import { applyCommit, resumeClock } from '../../../server/session/session.js'
import { settleOutcomes } from '../../../server/session/settle/settle.js'
import { checkCommit } from '../../../server/store/check-commit.js'
import { EPOCH, NOW, answered, asked, failed, givenSession, limits, modelling, settlingAt } from '../../support/given.js'
import { effectKinds, eventTypes, walk, withParking, type WalkOptions } from '../walk.js'

const REFUSAL = { code: 'TOOL_UNKNOWN', message: 'There is no tool "wrok".', retryable: false }

function settle(outcome: Outcome, session: Session = givenSession({ phase: modelling() }), options: WalkOptions = {}): Commit {
  const { now = NOW, ...rest } = options
  const commit = settleOutcomes(session, [outcome], settlingAt(now, rest))
  if (commit === null) throw new Error('nothing was settled')
  const whole = withParking(session, commit, options)
  checkCommit(session, whole)
  return whole
}

describe('an answer', () => {
  test('without calls ends the turn and parks, in one commit', () => {
    const commit = settle(answered('Hello.'))
    expect(eventTypes([commit])).toEqual(['MESSAGE_COMPLETED', 'STEP_COMPLETED', 'TURN_COMPLETED', 'SESSION_WAITING'])
    expect(commit).toMatchObject({ park: { wakeAt: null }, guard: 'inbox', closedTurn: { status: 'COMPLETED', output: 'Hello.' } })
    expect(commit.history).toEqual([{ role: 'assistant', text: 'Hello.', calls: [], interrupted: false }])
  })

  test('without a word completes the turn and leaves no empty item in history (H1)', () => {
    const commit = settle(answered(''))
    expect(commit.closedTurn).toMatchObject({ status: 'COMPLETED', output: '' })
    expect(commit.history).toEqual([])
  })

  test('with calls starts them in the commit that records them: TOOL_CALL_START, and the row RUNNING (R3)', () => {
    const commit = settle(answered('Let me see.', [asked('one'), asked('two')]))
    expect(eventTypes([commit])).toEqual([
      'MESSAGE_COMPLETED',
      'STEP_COMPLETED',
      'TOOL_CALL_REQUESTED',
      'TOOL_CALL_REQUESTED',
      'TOOL_CALL_START',
      'TOOL_CALL_START',
    ])
    expect(commit.newCalls.map(({ name, order, status, startedAt }) => [name, order, status, startedAt])).toEqual([
      ['one', 0, 'RUNNING', NOW],
      ['two', 1, 'RUNNING', NOW],
    ])
    expect(commit.changedCalls).toEqual([])
    expect(commit).toMatchObject({ guard: 'control', park: null, checkpoint: { phase: { kind: 'acting', turn: { calls: 2 } } } })
  })

  test('starts nothing that is not in the checkpoint: what is owed after it is exactly what it recorded as started (R3)', () => {
    const session = givenSession({ phase: modelling() })
    const calls = [asked('one'), asked('alone', { sequential: true }), asked('refused', { refusal: REFUSAL })]
    const commit = settle(answered('', calls), session)
    const started = commit.events.flatMap((event) => (event.type === 'TOOL_CALL_START' ? [event.data.callId] : []))
    const { owed } = walk(applyCommit(session, commit))
    expect(owed.kind === 'effects' && owed.effects.map((effect) => effect.key)).toEqual(started)
    expect(started).toEqual(['call_one'])
  })

  test('that asks for an unknown tool gets its refusal as a result, and the step goes on', () => {
    const commit = settle(answered('', [asked('wrok', { refusal: REFUSAL }), asked('work')]))
    expect(commit.newCalls.map(({ name, status, startedAt }) => [name, status, startedAt])).toEqual([
      ['wrok', 'FAILED', null],
      ['work', 'RUNNING', NOW],
    ])
    expect(commit.events.filter((event) => event.type === 'TOOL_CALL_END')).toMatchObject([
      { data: { name: 'wrok', error: REFUSAL, durationMs: null } },
    ])
    expect(commit.checkpoint.phase.kind).toBe('acting')
  })

  test('with nothing but refused calls asks the model again at once, with their results in call order', () => {
    const commit = settle(answered('', [asked('a', { refusal: REFUSAL }), asked('b', { refusal: REFUSAL })]))
    expect(commit.checkpoint.phase).toMatchObject({ kind: 'modelling', step: { index: 1, attempt: 1, epoch: EPOCH } })
    expect(commit.history).toMatchObject([
      { role: 'assistant', calls: [{ name: 'a' }, { name: 'b' }] },
      { role: 'tool', name: 'a', isError: true, text: REFUSAL.message },
      { role: 'tool', name: 'b', isError: true },
    ])
    expect(eventTypes([commit])).not.toContain('TOOL_CALL_START')
  })

  test('that was cut off runs none of its calls, says why, and the turn goes on', () => {
    const commit = settle(answered('Now I', [asked('whole'), asked('half', { refusal: REFUSAL })], { finishReason: 'LENGTH' }))
    expect(commit.newCalls.map(({ status, result }) => [status, result?.error?.code])).toEqual([
      ['FAILED', 'TOOL_INPUT_INVALID'],
      ['FAILED', 'TOOL_UNKNOWN'],
    ])
    expect(eventTypes([commit])).not.toContain('TOOL_CALL_START')
    expect(commit.checkpoint.phase).toMatchObject({ kind: 'modelling', step: { index: 1 } })
  })

  test.each([
    ['REFUSAL', 'MODEL_REFUSED'],
    ['CONTENT_FILTER', 'MODEL_CONTENT_FILTERED'],
  ] as const)('with %s fails the turn, keeps the text and leaves the session open', (finishReason, code) => {
    const commit = settle(answered('I would rather', [], { finishReason }))
    expect(commit.closedTurn).toMatchObject({ status: 'FAILED', output: 'I would rather', error: { code } })
    expect(commit.session).toMatchObject({ status: 'IDLE', end: null })
  })

  test('that is refused or filtered runs none of its calls; each has its result', () => {
    const commit = settle(answered('No', [asked('whole')], { finishReason: 'CONTENT_FILTER' }))
    expect(commit.newCalls.map(({ status }) => status)).toEqual(['FAILED'])
    expect(commit.history.map(({ role }) => role)).toEqual(['assistant', 'tool'])
    expect(commit.closedTurn).toMatchObject({ status: 'FAILED', error: { code: 'MODEL_CONTENT_FILTERED' } })
  })

  test('that came late, when the session does not wait for a model, changes nothing', () => {
    expect(settleOutcomes(givenSession({ phase: { kind: 'idle' } }), [answered('late')], settlingAt())).toBeNull()
  })

  test('adds its usage to step, turn and session; a missing one is said to be missing', () => {
    const usage = { promptTokens: 10, completionTokens: 5, cacheTokens: null, reasoningTokens: null, costUsd: null, incomplete: false }
    expect(settle(answered('Hi', [], { usage }))).toMatchObject({
      closedStep: { usage },
      closedTurn: { usage },
      checkpoint: { usage },
      session: { usage },
    })
    expect(settle(answered('Hi')).checkpoint.usage).toMatchObject({ promptTokens: null, incomplete: true })
  })
})

describe('a failure of the provider', () => {
  test('that may pass is announced, waits, and is tried again as the next attempt of the same step', () => {
    const session = givenSession({ phase: modelling() })
    const commit = settle(failed('MODEL_UNAVAILABLE'), session)
    expect(commit.events).toMatchObject([{ type: 'STEP_RETRYING', data: { delayMs: 250, error: { code: 'MODEL_UNAVAILABLE' } } }])
    expect(commit.park).toBeNull()
    const waiting = walk(applyCommit(session, commit))
    expect(waiting.owed).toMatchObject({ kind: 'effects', effects: [], dueAt: NOW + 250 })
    const later = walk(waiting.session, { now: NOW + 250 })
    expect(later.session.checkpoint.phase).toMatchObject({ step: { index: 0, attempt: 2, failures: 1, retryAt: null } })
    expect(effectKinds(later.owed)).toEqual(['call-model'])
  })

  test('waits as long as the provider asks; over ten seconds the turn parks on a timer and its clock stands still', () => {
    const commit = settle(failed('MODEL_RATE_LIMITED', { retryAfterMs: 60_000 }))
    expect(eventTypes([commit])).toEqual(['STEP_RETRYING', 'TURN_WAITING'])
    expect(commit).toMatchObject({ park: { wakeAt: NOW + 60_000 }, guard: 'inbox', session: null })
    expect(commit.checkpoint.phase).toMatchObject({ turn: { activeMs: 1000, activeSince: null }, step: { retryAt: NOW + 60_000 } })
  })

  test('is given up after three calls: the step and its turn fail with the code of the provider', () => {
    const commit = settle(failed('MODEL_UNAVAILABLE', { attempt: 3 }), givenSession({ phase: modelling({ attempt: 3, failures: 2 }) }))
    expect(eventTypes([commit])).toEqual(['STEP_FAILED', 'TURN_FAILED', 'SESSION_WAITING'])
    expect(commit).toMatchObject({
      closedStep: { status: 'FAILED' },
      closedTurn: { status: 'FAILED', error: { code: 'MODEL_UNAVAILABLE' } },
    })
  })

  test('that will not pass is not tried again', () => {
    const commit = settle(failed('MODEL_UNAUTHENTICATED', { retryable: false }))
    expect(eventTypes([commit])).toEqual(['STEP_FAILED', 'TURN_FAILED', 'SESSION_WAITING'])
  })

  test('does not count as a takeover', () => {
    expect(settle(failed('MODEL_UNAVAILABLE')).checkpoint.phase).toMatchObject({ turn: { takeovers: 0 } })
  })
})

describe('the time of a turn', () => {
  const limited = limits({ turnTimeoutMs: 5000 })

  test('is over after its active time: what the model said is kept as interrupted, the turn fails', () => {
    const blocks = answered('So far').blocks
    const { commits } = walk(givenSession({ phase: modelling() }), { limits: limited, now: NOW + 4000, said: blocks })
    expect(eventTypes(commits)).toEqual(['MESSAGE_COMPLETED', 'STEP_INTERRUPTED', 'TURN_FAILED', 'SESSION_WAITING'])
    expect(commits[0]).toMatchObject({
      closedTurn: { status: 'FAILED', output: 'So far', error: { code: 'TURN_TIMEOUT' }, activeMs: 5000 },
      history: [{ role: 'assistant', text: 'So far', interrupted: true }],
    })
  })

  test('has its end as the time to look again', () => {
    expect(walk(givenSession({ phase: modelling() }), { limits: limited }).owed).toMatchObject({ dueAt: NOW + 4000 })
  })

  test('stands still while the turn is parked on a timer', () => {
    const session = givenSession({ phase: modelling({ failures: 1, retryAt: NOW + 3_600_000 }, { activeMs: 1000, activeSince: null }) })
    const later = walk(session, { limits: limited, now: NOW + 3_600_000 })
    expect(eventTypes(later.commits)).toEqual(['TURN_RESUMED', 'STEP_STARTED'])
    expect(later.owed).toMatchObject({ dueAt: NOW + 3_600_000 + 4000 })
  })

  test('stood still while nobody drove the session: a process that was away for hours fails no turn', () => {
    const claimed = givenSession({ phase: modelling({ epoch: EPOCH - 1 }, { activeMs: 1000, activeSince: NOW }) })
    const later = NOW + 3_600_000
    const resumed = walk(resumeClock(claimed, later), { limits: limited, now: later })
    expect(eventTypes(resumed.commits)).toEqual(['STEP_INTERRUPTED', 'STEP_STARTED'])
    expect(resumed.owed).toMatchObject({ dueAt: later + 4000 })
  })

  test('is booked with every step, so that a crash loses what one step has used at most', () => {
    const begun = walk(givenSession({ phase: modelling({ retryAt: NOW + 2000, failures: 1 }) }), { now: NOW + 2000 })
    expect(begun.session.checkpoint.phase).toMatchObject({ turn: { activeMs: 3000, activeSince: NOW + 2000 } })
  })

  test('goes on in a short back-off, and may end there without interrupting an attempt that is over', () => {
    const session = givenSession({ phase: modelling({ failures: 1, retryAt: NOW + 4500 }) })
    expect(eventTypes(walk(session, { limits: limited, now: NOW + 4000 }).commits)).toEqual(['TURN_FAILED', 'SESSION_WAITING'])
  })
})
