import { describe, expect, test } from 'vitest'
import { createLocalCoordinator } from '../../server/coordination/local.js'
import { createFakeClock, settled } from '../support/fake-clock.js'
import { facts, next, openFeed, ONE, rest, TWO, watch } from '../support/feed-world.js'

/** A feed whose coordinator tells of a gap when it is told to. */
function openFeedWithGaps() {
  const local = createLocalCoordinator({ clock: createFakeClock() })
  const listeners = new Set<() => void>()
  const onGap = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  const setup = openFeed({ coordinator: { subscribe: local.subscribe, onGap } })
  const gap = () => {
    for (const listener of listeners) listener()
  }
  return { ...setup, listeners, gap }
}

describe('when publishes may have been lost', () => {
  test('everybody who follows is told at once how far his log goes, by one question (R5)', async () => {
    const { clock, store, write, follow, gap } = openFeedWithGaps()
    const readers = [follow(), follow(), follow({ sessionId: TWO })]
    for (const reader of readers) await next(reader)
    write(...facts(2))
    const seen = readers.map((reader) => watch(reader.next()))
    gap()
    await clock.advance(0)
    expect(store.tailReads).toEqual([[ONE, TWO]])
    expect(seen.map(({ answer }) => answer?.value?.cursor)).toEqual([2, 2, undefined])
  })

  test('a gap in the middle of a look is looked into again: what was lost after the look counts too', async () => {
    const { clock, store, write, follow, gap } = openFeedWithGaps()
    const reader = follow()
    await next(reader)
    const release = store.hold()
    gap()
    await clock.advance(0)
    gap()
    release()
    await settled()
    write(...facts(1))
    const seen = watch(reader.next())
    await clock.advance(0)
    expect(store.tailReads).toHaveLength(2)
    expect(seen.answer).toMatchObject({ value: { cursor: 1 } })
  })

  test('the look every second goes on after it', async () => {
    const { clock, store, follow, gap } = openFeedWithGaps()
    await next(follow())
    gap()
    await clock.advance(2_500)
    expect(store.tailReads).toHaveLength(3)
  })

  test('nobody is asked when nobody follows, and a closed feed does not listen', async () => {
    const { clock, feed, store, follow, gap, listeners } = openFeedWithGaps()
    gap()
    const reader = follow()
    await next(reader)
    await reader.return?.()
    gap()
    await clock.advance(5_000)
    expect(store.tailReads).toEqual([])
    feed.close()
    expect(listeners.size).toBe(0)
    expect(clock.pending).toBe(0)
  })
})

test('a feed knows how many follow: from the first question to the end, of whatever kind', async () => {
  const { feed, write, follow } = openFeed()
  write(...facts(1))
  const live = follow()
  const replay = follow({ follow: false })
  expect(feed.subscribers).toBe(0)
  await next(live)
  expect(feed.subscribers).toBe(1)
  const replayed = rest(replay)
  await Promise.resolve()
  expect(feed.subscribers).toBe(2)
  await replayed
  expect(feed.subscribers).toBe(1)
  await live.return?.()
  expect(feed.subscribers).toBe(0)
})
