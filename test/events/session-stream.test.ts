import { expect, test } from 'vitest'
import { SessionStream } from '../../server/events/session-stream.js'
import { leaseOf, sessionNamed } from '../support/log-store.js'
import { chunk } from '../support/sample-events.js'

function openStream() {
  const ignore = () => undefined
  return new SessionStream({
    lease: leaseOf(sessionNamed('one')),
    maxPendingBytes: 1_024,
    onPending: ignore,
    onEmpty: ignore,
    onClosed: ignore,
  })
}

test('what is in flight has to land before the next may begin', () => {
  const stream = openStream()
  stream.emit(chunk('a', 0, 'x'))
  expect(stream.begin()).toEqual([chunk('a', 0, 'x')])
  stream.emit(chunk('a', 1, 'y'))
  expect(stream.canBegin).toBe(false)
  stream.end('busy', 0)
  expect(stream.canBegin).toBe(true)
  expect(stream.begin()).toEqual([chunk('a', 0, 'xy')])
})

test('refused alone again and again it waits longer and longer, up to 2 s; once written it does not wait', () => {
  const stream = openStream()
  const waits = Array.from({ length: 7 }, (_, index) => {
    stream.emit(chunk('a', index, 'x'))
    stream.begin()
    stream.end('refused-alone', 1_000)
    return stream.retryAt - 1_000
  })
  expect(waits).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000])
  stream.begin()
  stream.end('written', 1_000)
  expect(stream.isSuspect).toBe(false)
  expect(stream.retryAt).toBe(-Infinity)
})
