/** What follows from an answer, from nobody's answer, and from whatever ends a turn that asks. */
import { describe, expect, test } from 'vitest'
import type { OpenCall } from '../../../server/session/checkpoint.js'
import { next } from '../../../server/session/next.js'
import type { Request } from '../../../server/session/requests.js'
import { addDeliveries, type Session } from '../../../server/session/session.js'
import { settleOutcomes } from '../../../server/session/settle/settle.js'
import {
  BOB,
  LIMITS,
  NOW,
  acting,
  answered,
  answers,
  asked,
  asks,
  cancel,
  end,
  givenSession,
  message,
  modelling,
  openCall,
  rowsOf,
  settlingAt,
} from '../../support/given.js'
import { effectKinds, eventTypes, walk, withParking } from '../walk.js'

const HOUR = 3600_000
const APPROVE = { decision: 'APPROVE' } as const

function asking(calls: readonly OpenCall[], requests: readonly Request[], more: { parked?: boolean; expiresAt?: number } = {}): Session {
  const { parked = true, expiresAt } = more
  const phase = acting(calls, parked ? { activeSince: null } : {})
  return givenSession({ phase, calls: rowsOf(calls), requests, ...(expiresAt === undefined ? {} : { expiresAt, idleTimeoutMs: HOUR }) })
}
const work = openCall('work', 'asking')
const one = asking([work], [asks('work')])

describe('asking', () => {
  test('is one commit with the model’s answer, the arguments by their hash, and the parking; it overlooks no delivery', () => {
    const session = givenSession({ phase: modelling() })
    const { expiresAfterMs: _, ...ask } = { ...asks('work'), expiresAfterMs: null }
    const outcome = answered('', [asked('work', { input: { b: 1, a: 2 }, ask: { ...ask, expiresAfterMs: HOUR } })])
    const commit = settleOutcomes(session, [outcome], settlingAt())
    if (commit === null) throw new Error('the model has answered')
    const parked = withParking(session, commit)
    expect(parked).toMatchObject({
      guard: 'inbox',
      park: { wakeAt: NOW + HOUR },
      session: { status: 'WAITING_FOR_APPROVAL' },
      turnStatus: { status: 'WAITING' },
      newCalls: [{ status: 'WAITING_FOR_APPROVAL', startedAt: null }],
      newRequests: [{ expiresAt: NOW + HOUR, openedAfter: session.inbox }],
    })
    expect(parked.newRequests[0]?.inputHash).toMatch(/^[0-9a-f]{64}$/)
    expect(eventTypes([parked])).toEqual(['STEP_COMPLETED', 'TOOL_CALL_REQUESTED', 'APPROVAL_REQUESTED', 'TURN_WAITING'])
  })

  test('where nobody reads is denied at once', () => {
    const turn = { principal: { tenant: 'default', id: 'nightly', kind: 'SYSTEM' } } as const
    const session = givenSession({ phase: modelling({}, turn) })
    const ask = { ...asks('work'), expiresAfterMs: null }
    const commit = settleOutcomes(session, [answered('', [asked('work', { ask })])], settlingAt())
    expect(commit).toMatchObject({ newRequests: [], newCalls: [{ status: 'DENIED', result: { error: { code: 'TOOL_DENIED' } } }] })
    const reviewed = settleOutcomes(session, [answered('', [asked('work', { ask: { ...ask, reviewers: ['role:x'] } })])], settlingAt())
    expect(reviewed?.newRequests).toHaveLength(1)
  })
})

describe('an approval', () => {
  test('starts its call in the commit that records it, after the turn was resumed', () => {
    const { commits, owed } = walk(addDeliveries(one, [answers(1, { to: 'work', ...APPROVE })]))
    expect(commits).toHaveLength(1)
    expect(eventTypes(commits)).toEqual(['DELIVERY_SETTLED', 'APPROVAL_RESOLVED', 'TURN_RESUMED', 'TOOL_CALL_START'])
    expect(commits[0]).toMatchObject({
      guard: 'inbox',
      changedCalls: [{ status: 'RUNNING', startedAt: NOW }],
      turnStatus: { status: 'RUNNING' },
    })
    expect(effectKinds(owed)).toEqual(['run-tool'])
  })

  test('of other arguments than those that were shown runs nothing', () => {
    const session = asking([work], [asks('work', { inputHash: 'of something else' })])
    const { commits, owed } = walk(addDeliveries(session, [answers(1, { to: 'work', ...APPROVE })]))
    expect(commits[0]?.changedCalls).toMatchObject([{ status: 'FAILED', result: { error: { code: 'TOOL_INPUT_CHANGED' } } }])
    expect(effectKinds(owed)).toEqual(['call-model'])
  })

  test('of one of two leaves the turn waiting for the other', () => {
    const session = asking([work, openCall('pay', 'asking')], [asks('work'), asks('pay')])
    const { commits, owed, session: after } = walk(addDeliveries(session, [answers(1, { to: 'pay', decision: 'DENY' })]))
    expect(eventTypes(commits)).toEqual(['DELIVERY_SETTLED', 'APPROVAL_RESOLVED', 'TOOL_CALL_END'])
    expect(owed).toEqual({ kind: 'park', wakeAt: null })
    expect(after).toMatchObject({ status: 'WAITING_FOR_APPROVAL', requests: [{ id: 'req_work' }] })
  })

  test('of a sequential call waits for the one that runs', () => {
    const calls = [openCall('pay', 'started'), openCall('work', 'asking', { sequential: true })]
    const session = asking(calls, [asks('work')], { parked: false })
    const { owed, session: after } = walk(addDeliveries(session, [answers(1, { to: 'work', ...APPROVE })]))
    expect(effectKinds(owed)).toEqual(['run-tool'])
    expect(after.status).toBe('RUNNING')
    expect([...after.calls.values()].map(({ status }) => status)).toEqual(['RUNNING', 'REQUESTED'])
  })

  test('in a process that is about to stop is recorded, and its call begins in the next one', () => {
    const { commits, owed } = walk(addDeliveries(one, [answers(1, { to: 'work', ...APPROVE })]), { draining: true })
    expect(eventTypes(commits)).toEqual(['DELIVERY_SETTLED', 'APPROVAL_RESOLVED', 'TURN_RESUMED'])
    expect(owed).toEqual({ kind: 'park', wakeAt: NOW })
    expect(commits.at(-1)?.session?.status).toBe('RUNNING')
  })

  test('in a process that is about to stop does not make the turn wait, while another call still asks', () => {
    const session = asking([work, openCall('pay', 'asking')], [asks('work'), asks('pay')])
    const { commits, session: after } = walk(addDeliveries(session, [answers(1, { to: 'pay', ...APPROVE })]), { draining: true })
    expect(eventTypes(commits)).toEqual(['DELIVERY_SETTLED', 'APPROVAL_RESOLVED', 'TURN_RESUMED'])
    expect(commits.at(-1)?.park).toEqual({ wakeAt: NOW })
    expect(after.status).toBe('WAITING_FOR_APPROVAL')
  })

  test('that was accepted comes before words that would have withdrawn it, and before its expiry', () => {
    const session = asking([work], [asks('work', { expiresAt: NOW })])
    const { commits } = walk(addDeliveries(session, [message(1, 'wait'), answers(2, { to: 'work', ...APPROVE })]))
    expect(eventTypes(commits)).toContain('TOOL_CALL_START')
    expect(eventTypes(commits)).not.toContain('APPROVAL_CANCELLED')
  })

  test('behind a cancel comes too late, and says so', () => {
    const given = addDeliveries(one, [cancel(1, { openTurnId: one.requests[0]?.turnId ?? null }), answers(2, { to: 'work', ...APPROVE })])
    const { commits } = walk(given)
    const settled = commits.flatMap((commit) => commit.settled)
    expect(settled).toMatchObject([{ status: 'APPLIED' }, { status: 'REJECTED', rejection: { code: 'WITHDRAWN' } }])
    expect(eventTypes(commits)).toContain('APPROVAL_CANCELLED')
    expect(eventTypes(commits)).not.toContain('TOOL_CALL_START')
  })
})

describe('nobody’s answer', () => {
  const timed = asking([work], [asks('work', { expiresAt: NOW + HOUR })])

  test('is waited for until its time', () => {
    expect(walk(timed).owed).toEqual({ kind: 'park', wakeAt: NOW + HOUR })
    const { commits, owed } = walk(timed, { now: NOW + HOUR })
    expect(commits[0]).toMatchObject({
      guard: 'inbox',
      settledRequests: [{ status: 'EXPIRED', answer: null }],
      changedCalls: [{ status: 'DENIED' }],
    })
    expect(effectKinds(owed)).toEqual(['call-model'])
  })

  test('is looked for while a call beside it runs', () => {
    const session = asking([work, openCall('pay', 'started')], [asks('work', { expiresAt: NOW + 5 })], { parked: false })
    expect(next(session, { now: NOW, limits: LIMITS, draining: false, isSpeaking: false })).toMatchObject({
      kind: 'effects',
      dueAt: NOW + 5,
    })
  })

  test('costs none of the turn’s time', () => {
    const { session } = walk(addDeliveries(one, [answers(1, { to: 'work', ...APPROVE })]), { now: NOW + 10 * 24 * HOUR })
    expect(session.checkpoint.phase).toMatchObject({ turn: { activeMs: 0, activeSince: NOW + 10 * 24 * HOUR } })
  })

  test('within the idle window ends the session, and tells the request so', () => {
    const session = asking([work], [asks('work')], { expiresAt: NOW })
    const { commits, session: after } = walk(session)
    expect(eventTypes(commits)).toEqual(['APPROVAL_CANCELLED', 'TOOL_CALL_END', 'TURN_CANCELLED', 'SESSION_COMPLETED'])
    expect(commits[0]?.settledRequests).toMatchObject([{ status: 'EXPIRED' }])
    expect(after.status).toBe('COMPLETED')
  })
})

describe('what ends the turn', () => {
  const beside = asking([work, openCall('pay', 'started')], [asks('work')], { parked: false })

  test.each([
    { what: 'a cancel', delivery: cancel(1, { openTurnId: beside.requests[0]?.turnId ?? null }) },
    { what: 'an end', delivery: end(1) },
  ])('$what withdraws at once what it asks, also while a call beside it gets its grace', ({ delivery }) => {
    const { commits, session, owed } = walk(addDeliveries(beside, [delivery]))
    expect(eventTypes(commits)).toEqual(['DELIVERY_SETTLED', 'APPROVAL_CANCELLED', 'TOOL_CALL_END'])
    expect(session).toMatchObject({ status: 'RUNNING', requests: [] })
    expect(effectKinds(owed)).toEqual(['run-tool, aborted'])
  })

  test('withdraws it too when the session stalls', () => {
    const { commits } = walk({ ...one, claims: 99 })
    expect(eventTypes(commits)).toEqual(['TOOL_CALL_END', 'APPROVAL_CANCELLED', 'TURN_FAILED', 'SESSION_WAITING'])
  })
})

describe('words of the turn’s person', () => {
  test('that answer nothing end the waiting calls and are read next, those that run are waited for', () => {
    const session = asking([work, openCall('pay', 'started')], [asks('work')], { parked: false })
    const given = addDeliveries(session, [{ ...message(1, 'no, wait'), policy: 'QUEUE' }])
    const { commits, owed, session: after } = walk(given)
    expect(eventTypes(commits)).toEqual(['APPROVAL_CANCELLED', 'TOOL_CALL_END'])
    expect(effectKinds(owed)).toEqual(['run-tool'])
    expect(after.deliveries).toHaveLength(1)
    const done = settleOutcomes(
      after,
      [
        {
          kind: 'tool-ended',
          callId: openCall('pay', 'started').id,
          status: 'COMPLETED',
          result: { output: 1, text: '1', error: null, truncatedBytes: 0, endedAt: NOW },
        },
      ],
      settlingAt(),
    )
    expect(done?.history.map(({ role }) => role)).toEqual(['tool', 'tool', 'user'])
    expect(done?.settled).toMatchObject([
      { status: 'APPLIED', turnId: after.checkpoint.phase.kind === 'acting' ? after.checkpoint.phase.turn.id : '' },
    ])
  })

  test('that were queued before it was asked wait for the end of the turn, and so does everybody else', () => {
    const session = asking([work], [asks('work', { openedAfter: 1 })])
    const given = addDeliveries(session, [{ ...message(1, 'later'), policy: 'QUEUE' }, message(2, 'me too', BOB)])
    expect(walk(given).owed).toEqual({ kind: 'park', wakeAt: null })
  })
})
