/** A session that was claimed again and again without a commit: what it is at is given up, and it goes on with what else waits. */
import { describe, expect, test } from 'vitest'
import { next } from '../../../server/session/next.js'
import { MAX_CLAIMS } from '../../../server/session/retry.js'
import { settleStall } from '../../../server/session/settle/stall.js'
import {
  ALICE,
  BOB,
  EPOCH,
  LIMITS,
  NOW,
  STEP,
  TURN,
  acting,
  cancel,
  end,
  givenSession,
  message,
  modelling,
  openCall,
  rowsOf,
  settlingAt,
  type Given,
} from '../../support/given.js'
import { effectKinds, eventTypes, walk } from '../walk.js'

const STALLED = { code: 'SESSION_STALLED', retryable: false }
const DEAD = EPOCH - 1
const stalled = (given: Given) => givenSession({ claims: MAX_CLAIMS + 1, ...given })
const CALLS = [
  openCall('done', 'ended'),
  openCall('pay', 'started', { epoch: DEAD }),
  openCall('look', 'started', { epoch: DEAD, idempotent: true }),
  openCall('later', 'requested', { sequential: true }),
]

describe('a claim too many', () => {
  const given: Given = { phase: modelling({ epoch: DEAD }), deliveries: [end(1)] }
  const kindOf = (claims: number) => {
    const owed = next(givenSession({ ...given, claims }), { now: NOW, limits: LIMITS, draining: false, isSpeaking: false })
    return owed.kind === 'transition' ? owed.transition.kind : owed.kind
  }

  test('comes before everything else that is owed, also in a process that drains', () => {
    expect(kindOf(MAX_CLAIMS + 1)).toBe('stalled')
    expect(next(stalled(given), { now: NOW, limits: LIMITS, draining: true, isSpeaking: false })).toMatchObject({
      transition: { kind: 'stalled' },
    })
  })

  test('is the sixth: up to five a session is driven', () => {
    expect(kindOf(MAX_CLAIMS)).toBe('control')
  })

  test('is forgotten with the first commit', () => {
    expect(walk(stalled({ phase: { kind: 'idle' } })).session.claims).toBe(0)
  })

  test('of an ended session does not wake it', () => {
    const ended = stalled({ phase: { kind: 'ended', status: 'COMPLETED', reason: 'ENDED' } })
    expect(next(ended, { now: NOW, limits: LIMITS, draining: false, isSpeaking: false }).kind).toBe('park')
  })
})

describe('a stalled session', () => {
  test('with the model asked: its step is closed, its turn fails, and the session waits for the next message', () => {
    const { session, commits, owed } = walk(stalled({ phase: modelling({ epoch: DEAD }) }))
    expect(commits).toHaveLength(1)
    expect(eventTypes(commits)).toEqual(['STEP_INTERRUPTED', 'TURN_FAILED', 'SESSION_WAITING'])
    expect(commits[0]?.closedStep).toMatchObject({ id: STEP, status: 'INTERRUPTED', error: STALLED })
    expect(commits[0]?.closedTurn).toMatchObject({ id: TURN, status: 'FAILED', output: null, error: STALLED })
    expect(commits[0]?.history).toEqual([])
    expect([session.status, owed.kind]).toEqual(['IDLE', 'park'])
  })

  test('in a back-off: the attempt was closed already, nothing is interrupted', () => {
    const phase = modelling({ epoch: DEAD, failures: 1, retryAt: NOW + 5000 }, { activeSince: null })
    const { commits } = walk(stalled({ phase }))
    expect(eventTypes(commits)).toEqual(['TURN_FAILED', 'SESSION_WAITING'])
    expect(commits[0]?.closedStep).toMatchObject({ status: 'INTERRUPTED', error: STALLED })
  })

  test('with calls open: what had begun is ABANDONED, what had not is CANCELLED, what has a result keeps it; history has one for each (H1)', () => {
    const { session, commits } = walk(stalled({ phase: acting(CALLS), calls: rowsOf(CALLS) }))
    expect(eventTypes(commits)).toEqual(['TOOL_CALL_END', 'TOOL_CALL_END', 'TOOL_CALL_END', 'TURN_FAILED', 'SESSION_WAITING'])
    expect(commits[0]?.changedCalls.map(({ name, status }) => [name, status])).toEqual([
      ['pay', 'ABANDONED'],
      ['look', 'ABANDONED'],
      ['later', 'CANCELLED'],
    ])
    expect(commits[0]?.history).toMatchObject([
      { role: 'tool', name: 'done', text: 'result of done', isError: false },
      { role: 'tool', name: 'pay', text: expect.stringMatching(/may have taken effect/), isError: true },
      { role: 'tool', name: 'look', text: expect.stringMatching(/may have taken effect/), isError: true },
      { role: 'tool', name: 'later', text: expect.stringMatching(/before the call ran/), isError: true },
    ])
    expect(commits[0]?.closedTurn).toMatchObject({ status: 'FAILED', error: STALLED })
    expect(session.status).toBe('IDLE')
  })

  test('whose calls have lost their rows: every call is closed in the log and answered in history all the same', () => {
    const { commits } = walk(stalled({ phase: acting(CALLS), calls: [] }))
    expect(commits[0]?.events.slice(0, 3)).toMatchObject([
      { type: 'TOOL_CALL_END', data: { name: 'pay', status: 'ABANDONED', error: { code: 'TOOL_ABANDONED' } }, turnId: TURN },
      { type: 'TOOL_CALL_END', data: { name: 'look', status: 'ABANDONED' } },
      { type: 'TOOL_CALL_END', data: { name: 'later', status: 'CANCELLED' } },
    ])
    expect(commits[0]?.changedCalls).toEqual([])
    expect(commits[0]?.history.map((item) => item.role === 'tool' && item.name)).toEqual(['done', 'pay', 'look', 'later'])
    expect(commits[0]?.closedTurn).toMatchObject({ error: STALLED })
  })

  test.each(['cancel', 'timeout'] as const)('while a %s waited for its tools: its turn fails, and the session stays open', (cause) => {
    const phase = acting(CALLS, {}, { cause, until: NOW + 5000, clears: false })
    const { session, commits } = walk(stalled({ phase, calls: rowsOf(CALLS) }))
    expect(eventTypes(commits).slice(-2)).toEqual(['TURN_FAILED', 'SESSION_WAITING'])
    expect(session.status).toBe('IDLE')
  })

  test('while an end waited for its tools: its turn fails and the session ends, as its caller was promised', () => {
    const phase = acting(CALLS, {}, { cause: 'end', until: NOW + 5000, clears: false })
    const { session, commits } = walk(stalled({ phase, calls: rowsOf(CALLS), deliveries: [message(1)] }))
    expect(eventTypes(commits).slice(-3)).toEqual(['TURN_FAILED', 'DELIVERY_SETTLED', 'SESSION_CANCELLED'])
    expect(commits[0]?.settled).toMatchObject([{ status: 'REJECTED', rejection: { code: 'ENDED' } }])
    expect(session.status).toBe('CANCELLED')
  })

  test.each<[string, Given['phase']]>([
    ['created', { kind: 'created' }],
    ['idle', { kind: 'idle' }],
  ])('%s, with messages: those that would start the next turn are rejected', (_, phase) => {
    const { session, commits, owed } = walk(stalled({ phase, deliveries: [message(1), message(2)] }))
    expect(eventTypes(commits)).toEqual(['DELIVERY_SETTLED', 'DELIVERY_SETTLED', 'SESSION_WAITING'])
    expect(commits[0]?.settled).toMatchObject([
      { status: 'REJECTED', turnId: null, rejection: STALLED },
      { status: 'REJECTED', turnId: null, rejection: STALLED },
    ])
    expect([session.status, owed.kind, session.checkpoint.phase.kind]).toEqual(['IDLE', 'park', phase.kind])
  })

  test.each([end(2), cancel(2)])(
    'idle, with a $kind: it would be taken first, so it is what is rejected, and the messages go on',
    (control) => {
      const { commits, owed } = walk(stalled({ phase: { kind: 'idle' }, deliveries: [message(1), control] }))
      expect(commits[0]?.settled).toMatchObject([{ id: control.id, status: 'REJECTED', rejection: STALLED }])
      expect(eventTypes(commits.slice(1))).toContain('TURN_STARTED')
      expect(effectKinds(owed)).toEqual(['call-model'])
    },
  )

  test('with messages of two people loses the first one’s only', () => {
    const deliveries = [message(1, 'one', ALICE), message(2, 'two', BOB)]
    const { commits, owed } = walk(stalled({ phase: { kind: 'idle' }, deliveries }))
    expect(commits[0]?.settled).toMatchObject([{ id: deliveries[0]?.id, status: 'REJECTED' }])
    expect(commits[1]?.openedTurn).toMatchObject({ principal: BOB, userInput: 'two' })
    expect(effectKinds(owed)).toEqual(['call-model'])
  })

  test('with a turn open loses the turn only: what waits behind it is taken next', () => {
    const { session, commits } = walk(stalled({ phase: modelling({ epoch: DEAD }), deliveries: [message(1), end(2)] }))
    expect(eventTypes(commits)).toEqual(['STEP_INTERRUPTED', 'TURN_FAILED', 'DELIVERY_SETTLED', 'DELIVERY_SETTLED', 'SESSION_COMPLETED'])
    expect(session.status).toBe('COMPLETED')
  })

  test('with nothing to give up parks', () => {
    const { commits, owed } = walk(stalled({ phase: { kind: 'idle' } }))
    expect(eventTypes(commits)).toEqual([])
    expect([commits.length, owed.kind]).toEqual([1, 'park'])
  })

  test('fails no turn over a control that it has not seen (R4)', () => {
    expect(settleStall(stalled({ phase: modelling({ epoch: DEAD }) }), settlingAt()).guard).toBe('control')
  })
})
