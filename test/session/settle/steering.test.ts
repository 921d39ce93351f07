/** Messages that join an open turn: whose, when, and what they make of what was under way. */
import { describe, expect, test } from 'vitest'
import type { Message } from '../../../server/session/deliveries.js'
import { settleOutcomes } from '../../../server/session/settle/settle.js'
import {
  ALICE,
  BOB,
  EPOCH,
  NOW,
  TURN,
  acting,
  answered,
  asked,
  end,
  ended,
  givenSession,
  limits,
  message,
  modelling,
  openCall,
  rowsOf,
  settlingAt,
} from '../../support/given.js'
import { effectKinds, eventTypes, walk, withParking } from '../walk.js'

const SPOKEN = answered('Half an ans').blocks
const NOBODY = { tenant: 'default', id: 'anonymous', kind: 'ANONYMOUS' } as const

function queued(position: number, by = ALICE): Message {
  return { ...message(position, `queued ${position}`, by), policy: 'QUEUE' }
}

describe('before the model has said anything', () => {
  test('a message takes the place of the call that is in flight: same turn, next step, and the provider reads it', () => {
    const { session, commits, owed } = walk(givenSession({ phase: modelling(), deliveries: [message(1, 'rather this')] }))
    expect(commits).toHaveLength(1)
    expect(commits[0]?.events).toMatchObject([
      { type: 'STEP_INTERRUPTED', stepIndex: 0, data: { reason: 'STEERED' } },
      { type: 'MESSAGE_RECEIVED', turnId: TURN, data: { text: 'rather this' } },
      { type: 'DELIVERY_SETTLED', data: { status: 'APPLIED', turn: TURN } },
      { type: 'STEP_STARTED', stepIndex: 1, attempt: 1 },
    ])
    expect(commits[0]?.closedStep).toMatchObject({ status: 'INTERRUPTED', text: '' })
    expect(commits[0]?.history).toEqual([{ role: 'user', text: 'rather this' }])
    expect(commits[0]?.guard).toBe('control')
    expect(session.checkpoint.phase).toMatchObject({ kind: 'modelling', turn: { id: TURN, steps: 2 }, step: { index: 1, epoch: EPOCH } })
    expect(effectKinds(owed)).toEqual(['call-model'])
  })

  test('several that wait join together, in order', () => {
    const { commits } = walk(givenSession({ phase: modelling(), deliveries: [message(1), message(2)] }))
    expect(commits.flatMap(({ history }) => history)).toMatchObject([{ text: 'message 1' }, { text: 'message 2' }])
    expect(commits).toHaveLength(1)
  })

  test('what it reasoned is retracted', () => {
    const thought = { ...SPOKEN[0], kind: 'reasoning' } as (typeof SPOKEN)[number]
    const { commits } = walk(givenSession({ phase: modelling(), deliveries: [message(1)] }), { said: [thought] })
    expect(eventTypes(commits)).toEqual(['STEP_INTERRUPTED', 'MESSAGE_RECEIVED', 'DELIVERY_SETTLED', 'STEP_STARTED'])
  })

  test('a call that a lost worker had made is recovered first', () => {
    const { commits } = walk(givenSession({ phase: modelling({ epoch: EPOCH - 1 }), deliveries: [message(1)] }))
    expect(eventTypes(commits)).toEqual([
      ...['STEP_INTERRUPTED', 'STEP_STARTED'],
      ...['STEP_INTERRUPTED', 'MESSAGE_RECEIVED', 'DELIVERY_SETTLED', 'STEP_STARTED'],
    ])
  })

  test('a process that stops hands the call back, and the next one asks with the message', () => {
    const left = walk(givenSession({ phase: modelling(), deliveries: [message(1)] }), { draining: true })
    expect(eventTypes(left.commits)).toEqual(['STEP_INTERRUPTED', 'MESSAGE_RECEIVED', 'DELIVERY_SETTLED'])
    const { commits } = walk({ ...left.session, lease: { ...left.session.lease, epoch: EPOCH + 1 } })
    expect(eventTypes(commits)).toEqual(['STEP_STARTED'])
  })

  test('one too many fails the turn, with the message in its history', () => {
    const { commits } = walk(givenSession({ phase: modelling(), deliveries: [message(1)] }), {
      limits: limits({ maxIterationsPerTurn: 1 }),
    })
    expect(commits[0]?.closedTurn).toMatchObject({ status: 'FAILED', error: { code: 'TURN_ITERATION_LIMIT' } })
    expect(commits[0]?.history).toMatchObject([{ role: 'user' }])
  })
})

describe('only the person whom the turn serves steers it', () => {
  test.each([
    { who: 'somebody else', waiting: message(1, 'and this', BOB) },
    { who: 'an anonymous caller', waiting: message(1, 'and this', NOBODY) },
    { who: 'the person, who wants it queued', waiting: queued(1) },
  ])('$who waits for the end of the turn', ({ waiting }) => {
    const { commits, owed } = walk(givenSession({ phase: modelling(), deliveries: [waiting] }))
    expect(commits).toEqual([])
    expect(effectKinds(owed)).toEqual(['call-model'])
  })

  test('an anonymous caller does not even steer a turn of an anonymous caller', () => {
    const phase = modelling({}, { principal: NOBODY })
    expect(walk(givenSession({ phase, deliveries: [message(1, 'me again', NOBODY)] })).commits).toEqual([])
  })

  test('a message that waits holds nothing back: a later one of the person passes it', () => {
    const { session } = walk(givenSession({ phase: modelling(), deliveries: [message(1, 'later', BOB), queued(2), message(3, 'now')] }))
    expect(session.deliveries.map(({ position }) => position)).toEqual([1, 2])
  })
})

describe('once the model speaks', () => {
  test('a message joins before the next call of the model: after the results, in its order', () => {
    const calls = [openCall('work', 'started')]
    const phase = acting(calls)
    const session = givenSession({ phase, calls: rowsOf(calls), deliveries: [message(1, 'and this'), message(2, 'and that')] })
    const commit = settleOutcomes(session, [ended('work')], settlingAt(NOW))
    expect(commit?.history).toMatchObject([
      { role: 'tool', name: 'work' },
      { role: 'user', text: 'and this' },
      { role: 'user', text: 'and that' },
    ])
    expect(commit?.events.map(({ type }) => type)).toEqual([
      ...['TOOL_CALL_END', 'MESSAGE_RECEIVED', 'DELIVERY_SETTLED', 'MESSAGE_RECEIVED', 'DELIVERY_SETTLED', 'STEP_STARTED'],
    ])
  })

  test('and when its answer asks for nothing that can run, it joins at once', () => {
    const session = givenSession({ phase: modelling(), deliveries: [message(1, 'and this')] })
    const refusal = { code: 'TOOL_UNKNOWN', message: 'there is no such tool', retryable: false }
    const commit = settleOutcomes(session, [answered('', [asked('unheard-of', { refusal })])], settlingAt(NOW))
    expect(commit?.history.map(({ role }) => role)).toEqual(['assistant', 'tool', 'user'])
  })

  test('and when the turn ends there, it starts the next turn', () => {
    const before = givenSession({ phase: modelling(), deliveries: [message(1, 'too late')] })
    const commit = settleOutcomes(before, [answered('Done.')], settlingAt(NOW))
    if (commit === null) throw new Error('the model has answered')
    expect(commit.closedTurn).toMatchObject({ id: TURN, status: 'COMPLETED' })
    expect(withParking(before, commit).park).toBeNull()
    expect(commit.settled).toEqual([])
  })
})

describe('a session that is one task', () => {
  const deliveries = [message(1, 'too late')]

  test.each([
    { how: 'COMPLETED', outcome: answered('Done.') },
    { how: 'FAILED', outcome: answered('', [], { finishReason: 'REFUSAL' }) },
  ])('is $how with its turn; what came too late is rejected', ({ how, outcome }) => {
    const session = givenSession({ phase: modelling(), mode: 'TASK', deliveries })
    const commit = settleOutcomes(session, [outcome], settlingAt(NOW))
    expect(commit?.session).toMatchObject({ status: how, end: { reason: 'TASK_FINISHED' } })
    expect(commit?.settled).toMatchObject([{ status: 'REJECTED', rejection: { code: 'ENDED' } }])
    expect(commit?.events.at(-1)?.type).toBe(`SESSION_${how}`)
    expect(commit?.guard).toBe('inbox')
  })

  test.each([
    { what: 'a cancel', control: { kind: 'CANCEL', turnId: null, dropQueued: false } as const, reason: 'TASK_FINISHED' },
    { what: 'a clear', control: { kind: 'CLEAR' } as const, reason: 'TASK_FINISHED' },
    { what: 'an end', control: { kind: 'END', reason: null } as const, reason: 'ENDED' },
  ])('is CANCELLED with it by $what', ({ control, reason }) => {
    const { session, commits } = walk(
      givenSession({ phase: modelling(), mode: 'TASK', deliveries: [{ ...end(1), ...control, openTurnId: TURN }] }),
    )
    expect(session.status).toBe('CANCELLED')
    expect(commits.at(-1)?.session?.end?.reason).toBe(reason)
    expect(eventTypes(commits).filter((type) => type.startsWith('SESSION_'))).toEqual(['SESSION_CANCELLED'])
  })
})
