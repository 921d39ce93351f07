import { describe, expect, test } from 'vitest'
import { createLocalCoordinator } from '../../server/coordination/local.js'
import type { RecordedEvent } from '../../server/session/events.js'
import { createFakeClock, settled } from '../support/fake-clock.js'
import { facts, next, ONE, openFeed, positions, rest, subscribingBy, TWO, watch } from '../support/feed-world.js'
import { sessionNamed } from '../support/log-store.js'
import { sessionCompleted } from '../support/sample-events.js'

describe('live', () => {
  test('sends what is published, a write a batch, without reading the log again', async () => {
    const { store, commit, follow } = openFeed()
    const reader = follow()
    await next(reader)
    const reads = store.reads.length
    commit(...facts(2))
    commit(...facts(1))
    expect(positions((await next(reader)).events)).toEqual([1, 2])
    expect(await next(reader)).toMatchObject({ cursor: 3, caughtUp: true })
    expect(store.reads).toHaveLength(reads)
  })

  test('what is published while the log is being read comes once', async () => {
    const { store, write, commit, follow } = openFeed()
    write(...facts(2))
    const release = store.hold()
    const reader = follow()
    const first = next(reader)
    await settled()
    commit(...facts(2))
    release()
    expect(positions((await first).events)).toEqual([1, 2, 3, 4])
    commit(...facts(1))
    expect(positions((await next(reader)).events)).toEqual([5])
  })

  test('a duplicate is dropped, a gap is read from the log', async () => {
    const { coordinator, write, commit, follow } = openFeed()
    const reader = follow()
    await next(reader)
    const first = commit(...facts(1))
    expect(positions((await next(reader)).events)).toEqual([1])
    coordinator.publish(ONE, first)
    write(...facts(3))
    commit(...facts(1))
    expect(positions((await next(reader)).events)).toEqual([2, 3, 4, 5])
  })

  test('a publish that overlaps with what is known brings only what is new', async () => {
    const { coordinator, write, follow } = openFeed()
    const [a, b] = [write(...facts(2)), write(...facts(2))]
    const reader = follow({ after: 2 })
    expect(positions((await next(reader)).events)).toEqual([3, 4])
    const c = write(...facts(1))
    coordinator.publish(ONE, [...a, ...b, ...c])
    expect(positions((await next(reader)).events)).toEqual([5])
  })

  test('a publish of half a write is no more than news: the write comes whole', async () => {
    const { coordinator, write, follow } = openFeed()
    const reader = follow()
    await next(reader)
    coordinator.publish(ONE, write(...facts(3)).slice(0, 2))
    expect(positions((await next(reader)).events)).toEqual([1, 2, 3])
  })

  test('a lost publish is made good within a second, by one question for all who follow', async () => {
    const { clock, store, write, follow } = openFeed()
    const readers = [follow(), follow(), follow(), follow({ sessionId: TWO })]
    for (const reader of readers) await next(reader)
    write(...facts(2))
    const seen = readers.map((reader) => watch(reader.next()))
    await clock.advance(1_000)
    expect(store.tailReads).toEqual([[ONE, TWO]])
    for (const { answer } of seen.slice(0, 3)) expect(answer).toMatchObject({ value: { cursor: 2 } })
    expect(seen[3]?.answer).toBeNull()
  })

  test('nobody asks the database when nobody follows', async () => {
    const { clock, store, follow } = openFeed()
    const reader = follow()
    await next(reader)
    await reader.return?.()
    await clock.advance(10_000)
    expect(store.tailReads).toEqual([])
    expect(clock.pending).toBe(0)
  })

  test('completes after the end of the session, also when its publish was lost', async () => {
    const { clock, commit, follow } = openFeed()
    const [told, untold] = [follow(), follow()]
    await next(told)
    await next(untold)
    const end = watch(told.next())
    commit(...facts(1), sessionCompleted())
    await settled()
    expect(end.answer).toMatchObject({ value: { cursor: 2 } })
    expect(await rest(told)).toEqual([])
    expect(await rest(untold)).toHaveLength(1)
    expect(clock.pending).toBe(0)

    const late = openFeed()
    const reader = late.follow()
    await next(reader)
    late.write(sessionCompleted())
    const all = rest(reader)
    await late.clock.advance(1_000)
    expect((await all).map((batch) => batch.cursor)).toEqual([1])
  })

  test('a cursor beyond the end of an ended session, and a session that does not exist, complete', async () => {
    const { clock, write, follow } = openFeed()
    write(sessionCompleted())
    const readers = [follow({ after: 99 }), follow({ sessionId: sessionNamed('nobody') })]
    const all = Promise.all(readers.map(rest))
    await clock.advance(1_000)
    expect((await all).flat().flatMap((batch) => batch.events)).toEqual([])
  })

  test('a failing look for lost publishes is repeated and logged once', async () => {
    const { clock, store, write, follow, warnings } = openFeed()
    const reader = follow()
    await next(reader)
    store.failsReads = true
    await clock.advance(5_000)
    expect(warnings).toHaveLength(1)
    expect(store.tailReads).toHaveLength(5)
    store.failsReads = false
    write(...facts(1))
    const seen = watch(reader.next())
    await clock.advance(1_000)
    expect(seen.answer).toMatchObject({ value: { cursor: 1 } })
  })
})

describe('subscribing', () => {
  test('nothing is subscribed to before the first batch is asked for', async () => {
    const { clock, store, follow } = openFeed()
    follow()
    await clock.advance(5_000)
    expect(store.reads).toEqual([])
    expect(store.tailReads).toEqual([])
  })

  test('the log is read after the acknowledgement; without one, after a second (R5)', async () => {
    const { clock, store, write, follow } = openFeed({ coordinator: subscribingBy(() => new Promise(() => undefined)) })
    write(...facts(1))
    const reader = follow()
    const seen = watch(reader.next())
    await clock.advance(999)
    expect(store.reads).toEqual([])
    await clock.advance(1)
    expect(seen.answer).toMatchObject({ value: { cursor: 1 } })
    write(...facts(1))
    const later = watch(reader.next())
    await clock.advance(1_000)
    expect(later.answer).toMatchObject({ value: { cursor: 2 } })
  })

  test('a subscription that is refused is asked for again, and nothing is lost meanwhile (R5)', async () => {
    let asked = 0
    let callback: ((events: readonly RecordedEvent[]) => void) | null = null
    const subscribe = async (_: unknown, given: (events: readonly RecordedEvent[]) => void) => {
      asked += 1
      if (asked === 1) throw new Error('no connection')
      callback = given
      return () => {
        callback = null
      }
    }
    const { clock, store, write, follow } = openFeed({ coordinator: subscribingBy(subscribe) })
    const reader = follow()
    await next(reader)
    write(...facts(1))
    const healed = watch(reader.next())
    await clock.advance(1_000)
    expect(healed.answer).toMatchObject({ value: { cursor: 1 } })
    expect(asked).toBe(2)
    const reads = store.reads.length
    const recorded = write(...facts(1))
    const publish: ((events: readonly RecordedEvent[]) => void) | null = callback
    ;(publish as unknown as (events: readonly RecordedEvent[]) => void)(recorded)
    expect(positions((await next(reader)).events)).toEqual([2])
    expect(store.reads).toHaveLength(reads)
    await reader.return?.()
    expect(callback).toBeNull()
  })

  test('a subscription acknowledged after its reader has gone is given back', async () => {
    let acknowledge = (_: () => void): void => undefined
    let given = 0
    const { follow } = openFeed({ coordinator: subscribingBy(() => new Promise((resolve) => (acknowledge = resolve))) })
    const reader = follow()
    const first = reader.next()
    await settled()
    await reader.return?.()
    acknowledge(() => (given += 1))
    await settled()
    expect(given).toBe(1)
    expect(await first).toMatchObject({ done: true })
  })

  test('followers of a session share one subscription and one batch a publish', async () => {
    let subscriptions = 0
    const clock = createFakeClock()
    const local = createLocalCoordinator({ clock })
    const { store, follow } = openFeed({
      coordinator: subscribingBy((sessionId, callback) => (subscriptions++, local.subscribe(sessionId, callback))),
    })
    const readers = [follow(), follow(), follow({ types: ['TURN_RESUMED'] }), follow({ types: ['TURN_RESUMED', 'TURN_RESUMED'] })]
    for (const reader of readers) await next(reader)
    const recorded = store.write(ONE, facts(2))
    local.publish(ONE, recorded)
    const [a, b, c, d] = await Promise.all(readers.map(next))
    expect(subscriptions).toBe(1)
    expect(a).toBe(b)
    expect(c).toBe(d)
    expect(a?.events).toBe(recorded)
    expect(c?.events).toBe(recorded)
  })
})
