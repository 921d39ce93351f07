/** What each commit must not overlook (R4): parks and ends no delivery, starts and ends of turns no control. */
import { describe, expect, test } from 'vitest'
import type { Commit, Guard } from '../../../server/session/commit.js'
import type { Outcome } from '../../../server/session/outcomes.js'
import type { Session } from '../../../server/session/session.js'
import { settleOutcomes } from '../../../server/session/settle/settle.js'
import {
  BOB,
  EPOCH,
  NOW,
  TURN,
  acting,
  answered,
  asked,
  cancel,
  end,
  ended,
  failed,
  givenSession,
  message,
  modelling,
  openCall,
  rowsOf,
  settlingAt,
} from '../../support/given.js'
import { walk, withParking } from '../walk.js'

const idle = { kind: 'idle' } as const
const one = [openCall('one', 'started')]
const two = [openCall('one', 'started'), openCall('two', 'started')]
const inARow = [openCall('one', 'started', { sequential: true }), openCall('two', 'requested')]
const lost = [openCall('one', 'started', { epoch: EPOCH - 1 })]
const queued = [message(1, 'queued', BOB)]

function firstOf(session: Session): Commit | undefined {
  return walk(session).commits[0]
}
function settled(session: Session, outcome: Outcome): Commit | undefined {
  const commit = settleOutcomes(session, [outcome], settlingAt())
  return commit === null ? undefined : withParking(session, commit)
}
function tools(calls: typeof one): Session {
  return givenSession({ phase: acting(calls), calls: rowsOf(calls) })
}

const guards: readonly (readonly [string, Guard, () => Commit | undefined])[] = [
  ['a turn starts', 'control', () => firstOf(givenSession({ phase: idle, deliveries: [message(1)] }))],
  ['a model is called again after a back-off', 'control', () => firstOf(givenSession({ phase: modelling({ retryAt: NOW - 1 }) }))],
  ['a model is called again after a lost worker', 'control', () => firstOf(givenSession({ phase: modelling({ epoch: EPOCH - 1 }) }))],
  ['calls start', 'control', () => settled(givenSession({ phase: modelling() }), answered('', [asked('one')]))],
  ['the next call of a sequence starts', 'control', () => settled(tools(inARow), ended('one'))],
  ['a step closes and the model is asked', 'control', () => settled(tools(one), ended('one'))],
  ['an abandoned call closes its step', 'control', () => firstOf(tools(lost))],
  [
    'a turn ends and a queued message follows',
    'control',
    () => settled(givenSession({ phase: modelling(), deliveries: queued }), answered('Hi')),
  ],
  [
    'a turn is cancelled and a queued message follows',
    'control',
    () => firstOf(givenSession({ phase: modelling(), deliveries: [...queued, cancel(2, { openTurnId: TURN })] })),
  ],
  ['a turn ends and parks', 'inbox', () => settled(givenSession({ phase: modelling() }), answered('Hi'))],
  [
    'a turn parks on a timer',
    'inbox',
    () => settled(givenSession({ phase: modelling() }), failed('MODEL_RATE_LIMITED', { retryAfterMs: 60_000 })),
  ],
  ['nothing is owed', 'inbox', () => firstOf(givenSession({ phase: idle }))],
  ['the session ends at rest', 'inbox', () => firstOf(givenSession({ phase: idle, deliveries: [end(1)] }))],
  ['the session ends with its turn', 'inbox', () => firstOf(givenSession({ phase: modelling(), deliveries: [end(1)] }))],
  ['one of several results comes', 'none', () => settled(tools(two), ended('one'))],
  ['a short back-off begins', 'none', () => settled(givenSession({ phase: modelling() }), failed('MODEL_UNAVAILABLE'))],
  ['a cancel without effect is applied', 'none', () => firstOf(givenSession({ phase: modelling(), deliveries: [cancel(1)] }))],
]

describe('a commit is guarded', () => {
  test.each(guards)('when %s: %s', (_, guard, make) => {
    expect(make()?.guard).toBe(guard)
  })
})
