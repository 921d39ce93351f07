/** A session that is idle for too long ends by itself. */
import { describe, expect, test } from 'vitest'
import { addDeliveries, applyCommit } from '../../../server/session/session.js'
import { settleOutcomes } from '../../../server/session/settle/settle.js'
import { NOW, acting, answered, givenSession, message, modelling, openCall, rowsOf, settlingAt } from '../../support/given.js'
import { effectKinds, eventTypes, walk, withParking } from '../walk.js'

const DAY = 24 * 3600_000
const idle = { kind: 'idle' } as const

describe('a session at rest', () => {
  test('is looked at when its time is over, and ends then', () => {
    const session = givenSession({ phase: idle, idleTimeoutMs: DAY, expiresAt: NOW + 1 })
    expect(walk(session).owed).toEqual({ kind: 'park', wakeAt: NOW + 1 })
    const later = walk(session, { now: NOW + 1 })
    expect(later.session.status).toBe('COMPLETED')
    expect(later.commits).toMatchObject([{ guard: 'inbox', session: { end: { reason: 'TIMEOUT' } } }])
    expect(eventTypes(later.commits)).toEqual(['SESSION_COMPLETED'])
  })

  test('also one that was never used', () => {
    const { session } = walk(givenSession({ phase: { kind: 'created' }, idleTimeoutMs: DAY, expiresAt: NOW }))
    expect(session.status).toBe('COMPLETED')
  })

  test('goes on when a message is there, however late it is taken', () => {
    const session = givenSession({ phase: idle, idleTimeoutMs: DAY, expiresAt: NOW - 1, deliveries: [message(1)] })
    expect(effectKinds(walk(session).owed)).toEqual(['call-model'])
  })

  test('without a timeout rests for ever', () => {
    expect(walk(givenSession({ phase: idle })).owed).toEqual({ kind: 'park', wakeAt: null })
  })
})

describe('the idle window begins anew', () => {
  test('with a delivery', () => {
    const session = givenSession({ phase: idle, idleTimeoutMs: DAY, expiresAt: NOW })
    expect(addDeliveries(session, [message(1)]).expiresAt).toBe(NOW - 100 + DAY)
  })

  test('with the end of a turn', () => {
    const session = givenSession({ phase: modelling(), idleTimeoutMs: DAY, expiresAt: NOW - 1 })
    const commit = settleOutcomes(session, [answered('Done.')], settlingAt(NOW))
    if (commit === null) throw new Error('the model has answered')
    expect(commit.session).toMatchObject({ expiresAt: NOW + DAY })
    expect(applyCommit(session, commit).expiresAt).toBe(NOW + DAY)
    expect(withParking(session, commit).park).toEqual({ wakeAt: NOW + DAY })
  })
})

describe('an open turn', () => {
  test.each([
    { what: 'a call of the model', phase: modelling(), calls: [], effect: 'call-model' },
    { what: 'a tool', phase: acting([openCall('work', 'started')]), calls: rowsOf([openCall('work', 'started')]), effect: 'run-tool' },
  ])('that runs $what is not ended by it', ({ phase, calls, effect }) => {
    const session = givenSession({ phase, calls, idleTimeoutMs: DAY, expiresAt: NOW - 1 })
    expect(effectKinds(walk(session).owed)).toEqual([effect])
  })

  test('that is parked is cancelled with it', () => {
    const phase = modelling({ failures: 1, retryAt: NOW + 60_000 }, { activeSince: null })
    const { session, commits } = walk(givenSession({ phase, idleTimeoutMs: DAY, expiresAt: NOW }))
    expect(eventTypes(commits)).toEqual(['TURN_CANCELLED', 'SESSION_COMPLETED'])
    expect(commits[0]?.events[0]).toMatchObject({ data: { reason: 'session_timeout' } })
    expect(session.status).toBe('COMPLETED')
  })

  test('that is parked is looked at when the session is over, if that is sooner', () => {
    const phase = modelling({ failures: 1, retryAt: NOW + 60_000 }, { activeSince: null })
    expect(walk(givenSession({ phase, idleTimeoutMs: DAY, expiresAt: NOW + 5 })).owed).toEqual({ kind: 'park', wakeAt: NOW + 5 })
  })
})
