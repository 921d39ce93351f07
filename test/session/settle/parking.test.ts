/** What parks, with which status, and what a process that drains still begins. */
import { describe, expect, test } from 'vitest'
import { settleOutcomes } from '../../../server/session/settle/settle.js'
import {
  EPOCH,
  NOW,
  BOB,
  acting,
  cancel,
  ended,
  givenSession,
  message,
  modelling,
  openCall,
  rowsOf,
  settlingAt,
  TURN,
} from '../../support/given.js'
import { storedId } from '../../../server/ids.js'
import { effectKinds, eventTypes, walk, withParking } from '../walk.js'

const OTHER_TURN = storedId('turn', 'turn_other')

describe('a session that rests', () => {
  test('is IDLE, and says so once', () => {
    const first = walk(givenSession({ phase: { kind: 'idle' }, status: 'RUNNING' }))
    expect(eventTypes(first.commits)).toEqual(['SESSION_WAITING'])
    expect(first.session.status).toBe('IDLE')
    expect(eventTypes(walk(first.session).commits)).toEqual([])
  })

  test('keeps its status CREATED until a turn begins', () => {
    expect(walk(givenSession({ phase: { kind: 'created' }, deliveries: [cancel(1)] })).session.status).toBe('CREATED')
  })

  test('that lost its first message to a cancel is IDLE, for no session goes back to CREATED', () => {
    const deliveries = [message(1), cancel(2, { turnId: OTHER_TURN, dropQueued: true })]
    const { session, commits, owed } = walk(givenSession({ phase: { kind: 'created' }, deliveries }))
    expect(session.status).toBe('IDLE')
    expect(commits.flatMap((commit) => commit.settled).map(({ status }) => status)).toEqual(['APPLIED', 'REJECTED'])
    expect(owed).toEqual({ kind: 'park', wakeAt: null })
    expect(walk(session).session.status).toBe('IDLE')
  })
})

describe('a process that drains', () => {
  test.each(['created', 'idle'] as const)('leaves a message that waits while %s to the next one, and the status stays RUNNING', (kind) => {
    const { session, commits, owed } = walk(givenSession({ phase: { kind }, deliveries: [message(1)] }), { draining: true })
    expect(owed).toEqual({ kind: 'park', wakeAt: NOW })
    expect(session.status).toBe('RUNNING')
    expect(eventTypes(commits)).toEqual([])
    expect(effectKinds(walk(session).owed)).toEqual(['call-model'])
  })

  test('hands a model call back, due at once, and the next worker makes it without counting a takeover', () => {
    const { session, commits, owed } = walk(givenSession({ phase: modelling() }), { draining: true })
    expect(eventTypes(commits)).toEqual(['STEP_INTERRUPTED'])
    expect(owed).toEqual({ kind: 'park', wakeAt: NOW })
    const taken = { ...session, lease: { ...session.lease, epoch: EPOCH + 1 } }
    const later = walk(taken)
    expect(eventTypes(later.commits)).toEqual(['STEP_STARTED'])
    expect(later.session.checkpoint.phase).toMatchObject({ turn: { takeovers: 0 }, step: { attempt: 2 } })
  })

  test('lets tools that run finish', () => {
    const calls = [openCall('work', 'started')]
    expect(effectKinds(walk(givenSession({ phase: acting(calls), calls: rowsOf(calls) }), { draining: true }).owed)).toEqual(['run-tool'])
  })

  test('begins no further call of the step, also when a result comes that makes room for it', () => {
    const calls = [openCall('first', 'started', { sequential: true }), openCall('second', 'requested')]
    const session = givenSession({ phase: acting(calls), calls: rowsOf(calls) })
    const commit = settleOutcomes(session, [ended('first')], settlingAt(NOW, { draining: true }))
    if (commit === null) throw new Error('nothing was settled')
    const parked = withParking(session, commit, { draining: true })
    expect(eventTypes([parked])).toEqual(['TOOL_CALL_END'])
    expect(parked.park).toEqual({ wakeAt: NOW })
  })

  test('gives a model call back that would follow the last result', () => {
    const calls = [openCall('only', 'started')]
    const session = givenSession({ phase: acting(calls), calls: rowsOf(calls) })
    const commit = settleOutcomes(session, [ended('only')], settlingAt(NOW, { draining: true }))
    expect(commit?.history).toHaveLength(1)
    expect(commit?.checkpoint.phase.kind).toBe('modelling')
  })
})

describe('messages that wait together', () => {
  const idle = { kind: 'idle' } as const

  test('of one person become one turn, in order', () => {
    const deliveries = [message(1, 'one'), message(2, 'two')]
    const { commits } = walk(givenSession({ phase: idle, deliveries }))
    expect(commits[0]?.openedTurn).toMatchObject({ userInput: 'one\n\ntwo' })
    expect(commits[0]?.history).toEqual([
      { role: 'user', text: 'one' },
      { role: 'user', text: 'two' },
    ])
    expect(commits[0]?.events[0]).toMatchObject({ type: 'TURN_STARTED', data: { deliveries: ['dlv_1', 'dlv_2'] } })
  })

  test('of two people never do', () => {
    const deliveries = [message(1, 'one'), message(2, 'two', BOB), message(3, 'three')]
    const { session, commits } = walk(givenSession({ phase: idle, deliveries }))
    expect(commits[0]?.openedTurn).toMatchObject({ userInput: 'one' })
    // The third steers the turn of the first.
    expect(session.deliveries.map(({ position }) => position)).toEqual([2])
  })

  test('of anonymous callers never do', () => {
    const nobody = { tenant: 'default', id: 'anonymous', kind: 'ANONYMOUS' } as const
    const { session } = walk(givenSession({ phase: idle, deliveries: [message(1, 'one', nobody), message(2, 'two', nobody)] }))
    expect(session.deliveries.map(({ position }) => position)).toEqual([2])
  })

  test('start the next turn when one ends, and the status never says IDLE between them', () => {
    const session = givenSession({ phase: modelling(), deliveries: [message(1, 'next')] })
    const commit = settleOutcomes(
      session,
      [{ kind: 'model-answered', attempt: 1, blocks: [], calls: [], finishReason: 'STOP', usage: null }],
      settlingAt(),
    )
    if (commit === null) throw new Error('nothing was settled')
    const whole = withParking(session, commit)
    expect(whole.park).toBeNull()
    expect(whole.session?.status).toBe('RUNNING')
    expect(whole.closedTurn?.id).toBe(TURN)
  })
})
