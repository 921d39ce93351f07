/** What older releases wrote is read by this one. */
import { expect, test } from 'vitest'
import { CHECKPOINT_VERSION, type Checkpoint } from '../../server/session/checkpoint.js'
import { decodeCheckpoint } from '../../server/session/decode-checkpoint.js'
import { NO_USAGE } from '../../server/session/usage.js'
import { acting, givenSession, openCall } from '../support/given.js'

const { checkpoint } = givenSession({ phase: acting([openCall('work', 'started')], {}, { cause: 'cancel', until: 1, clears: false }) })

/** As it was written before a field was there. */
function without(value: Checkpoint, ...fields: readonly string[]): unknown {
  return JSON.parse(JSON.stringify(value, (name, inner: unknown) => (fields.includes(name) ? undefined : inner)))
}

test.each([
  [1, ['clears', 'costUsd']],
  [2, ['costUsd']],
  [CHECKPOINT_VERSION, []],
])('a checkpoint of version %i', (version, missing) => {
  expect(decodeCheckpoint(version, without(checkpoint, ...missing))).toEqual(checkpoint)
})

test('of a session at rest', () => {
  const idle = givenSession({ phase: { kind: 'idle' }, usage: { ...NO_USAGE, promptTokens: 7 } }).checkpoint
  expect(decodeCheckpoint(2, without(idle, 'costUsd'))).toEqual(idle)
})

test('a newer one is refused, and named', () => {
  expect(() => decodeCheckpoint(CHECKPOINT_VERSION + 1, checkpoint)).toThrow(
    expect.objectContaining({ code: 'SESSION_STRANDED', message: expect.stringContaining(`version ${CHECKPOINT_VERSION + 1}`) }),
  )
})
