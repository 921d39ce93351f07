import { describe, expect, test } from 'vitest'
import type { BatchReader } from '../../server/events/batch-reader.js'
import { settled } from '../support/fake-clock.js'
import { facts, ONE, openFeed, positions } from '../support/feed-world.js'
import { sessionCompleted } from '../support/sample-events.js'

function open(setup: ReturnType<typeof openFeed>, signal = new AbortController().signal): { reader: BatchReader; calls: () => number } {
  let count = 0
  const reader = setup.feed.open(ONE, { after: 0, follow: true, signal })
  reader.whenReady(() => (count += 1))
  return { reader, calls: () => count }
}

/** Asks, and asks again when it is told to. */
async function begin(reader: BatchReader): Promise<void> {
  expect(reader.take()).toBe('later')
  await settled()
  reader.take()
  await settled()
  expect(reader.take()).toMatchObject({ events: [], caughtUp: true })
  expect(reader.take()).toBe('later')
}

const taken = ({ events }: Exclude<ReturnType<BatchReader['take']>, string>) => positions(events)

describe('a reader that is asked for what can be had', () => {
  test('does nothing before it is asked', async () => {
    const setup = openFeed()
    const { calls } = open(setup)
    setup.commit(...facts(1))
    await setup.clock.advance(5_000)
    expect([setup.store.reads, setup.feed.subscribers, calls()]).toEqual([[], 0, 0])
  })

  test('tells in the middle of a publish that there is news, and has it then, without waiting', async () => {
    const setup = openFeed()
    const { reader, calls } = open(setup)
    await begin(reader)
    const before = calls()
    setup.commit(...facts(2))
    expect(calls()).toBe(before + 1)
    expect(taken(reader.take() as never)).toEqual([1, 2])
    expect(reader.take()).toBe('later')
  })

  test('gives the very same live batch as every other reader of the same types', async () => {
    const setup = openFeed()
    const readers = [open(setup).reader, open(setup).reader]
    for (const reader of readers) await begin(reader)
    setup.commit(...facts(1))
    const [one, other] = readers.map((reader) => reader.take())
    expect(one).toBe(other)
  })

  test('is at its end when the session is, when its signal aborts and when it is finished', async () => {
    const setup = openFeed()
    const aborted = new AbortController()
    const [ended, left, finished] = [open(setup), open(setup, aborted.signal), open(setup)]
    for (const { reader } of [ended, left, finished]) await begin(reader)
    aborted.abort()
    finished.reader.finish()
    setup.commit(sessionCompleted())
    expect(taken(ended.reader.take() as never)).toEqual([1])
    for (const { reader } of [ended, left, finished]) expect([reader.take(), reader.take()]).toEqual(['end', 'end'])
    expect(setup.feed.subscribers).toBe(0)
    expect(setup.clock.pending).toBe(0)
  })

  test('throws SHUTTING_DOWN at every question when the feed is closed before its end (F5)', async () => {
    const setup = openFeed()
    const { reader, calls } = open(setup)
    await begin(reader)
    const before = calls()
    setup.feed.close()
    expect(calls()).toBe(before + 1)
    for (const _ of [1, 2]) expect(() => reader.take()).toThrow(expect.objectContaining({ code: 'SHUTTING_DOWN' }))
  })

  test('reads one page ahead of whoever takes, and no further', async () => {
    const setup = openFeed({ pageSize: 2 })
    for (let count = 0; count < 10; count += 1) setup.write(...facts(1))
    const { reader } = open(setup)
    reader.take()
    await settled()
    reader.take()
    await settled()
    expect(taken(reader.take() as never)).toEqual([1, 2])
    await settled()
    await settled()
    expect(setup.store.reads).toHaveLength(2)
    expect(taken(reader.take() as never)).toEqual([3, 4])
  })
})
