import { describe, expect, test } from 'vitest'
import { createLocalCoordinator } from '../../server/coordination/local.js'
import type { EventBatch } from '../../server/events/event-batch.js'
import { createFeed, type FeedOptions } from '../../server/events/feed.js'
import type { EventType, NewEvent, RecordedEvent } from '../../server/session/events.js'
import { createFakeClock, settled } from '../support/fake-clock.js'
import { createLogStore, sessionNamed } from '../support/log-store.js'
import { chunk, sessionCompleted, stepInterrupted, turnResumed } from '../support/sample-events.js'

const ONE = sessionNamed('one')
const TWO = sessionNamed('two')

function open(options: Partial<FeedOptions> = {}) {
  const clock = createFakeClock()
  const store = createLogStore()
  const coordinator = createLocalCoordinator({ clock })
  const warnings: string[] = []
  const log = { warn: (message: string) => warnings.push(message) }
  const feed = createFeed({ store, coordinator, clock, log, ...options })
  for (const sessionId of [ONE, TWO]) store.write(sessionId, [])
  const write = (...events: NewEvent[]) => store.write(ONE, events)
  const commit = (...events: NewEvent[]) => {
    const recorded = write(...events)
    coordinator.publish(ONE, recorded)
    return recorded
  }
  const follow = (given: { after?: number; follow?: boolean; types?: EventType[]; signal?: AbortSignal; sessionId?: typeof ONE } = {}) => {
    const { after = 0, follow: live = true, types, signal = new AbortController().signal, sessionId = ONE } = given
    const batches = feed.follow(sessionId, { after, follow: live, types: types && new Set(types), signal })
    return batches[Symbol.asyncIterator]()
  }
  return { clock, store, coordinator, feed, warnings, write, commit, follow }
}

type Reader = AsyncIterator<EventBatch>

async function next(reader: Reader): Promise<EventBatch> {
  const result = await reader.next()
  if (result.done === true) throw new Error('it completed')
  return result.value
}

async function rest(reader: Reader): Promise<readonly EventBatch[]> {
  const batches: EventBatch[] = []
  for (let result = await reader.next(); result.done !== true; result = await reader.next()) batches.push(result.value)
  return batches
}

/** Whether it has been answered by now, and with what. */
function watch(pull: Promise<IteratorResult<EventBatch>>): { answer: IteratorResult<EventBatch> | null } {
  const seen: { answer: IteratorResult<EventBatch> | null } = { answer: null }
  void pull.then((answer) => (seen.answer = answer))
  return seen
}

const positions = (events: readonly RecordedEvent[]) => events.map((event) => event.position)
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
const facts = (count: number) => Array.from({ length: count }, (_, index) => turnResumed(String(index)))

describe('replay', () => {
  test('sends the log after the cursor in pages, then says that it has caught up', async () => {
    const { write, follow } = open({ pageSize: 10 })
    for (const event of facts(25)) write(event)
    const reader = follow({ after: 3 })
    const batches = [await next(reader), await next(reader), await next(reader)]
    expect(batches.flatMap((batch) => positions(batch.events))).toEqual(range(4, 25))
    expect(batches.map((batch) => batch.caughtUp)).toEqual([false, false, true])
    expect(batches.map((batch) => batch.cursor)).toEqual(batches.map((batch) => batch.events.at(-1)?.position))
  })

  test('an empty log is said to be caught up with at once', async () => {
    const { follow } = open()
    expect(await next(follow())).toEqual({ events: [], cursor: 0, caughtUp: true })
  })

  test('a page that happens to end at the tail is followed by the news that it was the tail', async () => {
    const { write, follow } = open({ pageSize: 2 })
    write(...facts(2))
    const reader = follow()
    expect(await next(reader)).toMatchObject({ caughtUp: false, cursor: 2 })
    expect(await next(reader)).toEqual({ events: [], caughtUp: true, cursor: 2 })
  })

  test('a batch never cuts a write, also one that is longer than a page', async () => {
    const { write, follow } = open({ pageSize: 5 })
    for (const size of [3, 4, 12, 1, 5, 2]) write(...facts(size))
    const batches = await rest(follow({ follow: false }))
    expect(batches.flatMap((batch) => positions(batch.events))).toEqual(range(1, 27))
    for (const batch of batches) expect(batch.events.at(-1)?.endsWrite ?? true).toBe(true)
  })

  test('a bounded read completes at the tail and neither subscribes nor looks for lost publishes', async () => {
    const { clock, store, write, follow } = open()
    write(...facts(3))
    const batches = await rest(follow({ follow: false }))
    expect(batches.map((batch) => [positions(batch.events), batch.caughtUp])).toEqual([[[1, 2, 3], true]])
    expect(clock.pending).toBe(0)
    expect(store.tailReads).toEqual([])
  })

  test('a session that has ended replays and completes, without a further question', async () => {
    const { store, write, follow } = open()
    write(...facts(2))
    write(sessionCompleted())
    expect((await rest(follow())).flatMap((batch) => positions(batch.events))).toEqual([1, 2, 3])
    expect(await rest(follow({ after: 3 }))).toEqual([{ events: [], cursor: 3, caughtUp: true }])
    expect(store.tailReads).toEqual([])
  })

  test('a cursor in a removed range stays valid', async () => {
    const { store, clock, write, commit, follow } = open()
    write(chunk('a', 0, 'x'), chunk('a', 1, 'y'))
    write(turnResumed('a'), chunk('b', 0, 'z'))
    store.remove(ONE, (event) => event.type === 'LLM_CHUNK')
    const reader = follow({ after: 1 })
    expect(await next(reader)).toMatchObject({ events: [{ position: 3 }], caughtUp: true })
    await clock.advance(3_000)
    const reads = store.reads.length
    await clock.advance(3_000)
    expect(store.reads).toHaveLength(reads)
    commit(turnResumed('b'))
    expect(positions((await next(reader)).events)).toEqual([5])
  })

  test('reads that fail are repeated after a back-off, with a line in the log', async () => {
    const { clock, store, write, follow, warnings } = open()
    write(...facts(1))
    store.failsReads = true
    const seen = watch(follow().next())
    await clock.advance(10_000)
    expect(seen.answer).toBeNull()
    expect(store.reads.length).toBeLessThan(10)
    expect(warnings.length).toBeGreaterThan(0)
    store.failsReads = false
    await clock.advance(2_000)
    expect(seen.answer).toMatchObject({ value: { events: [{ position: 1 }] } })
  })
})

describe('live', () => {
  test('sends what is published, a write a batch, without reading the log again', async () => {
    const { store, commit, follow } = open()
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
    const { store, write, commit, follow } = open()
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
    const { coordinator, write, commit, follow } = open()
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
    const { coordinator, write, follow } = open()
    const [a, b] = [write(...facts(2)), write(...facts(2))]
    const reader = follow({ after: 2 })
    expect(positions((await next(reader)).events)).toEqual([3, 4])
    const c = write(...facts(1))
    coordinator.publish(ONE, [...a, ...b, ...c])
    expect(positions((await next(reader)).events)).toEqual([5])
  })

  test('a publish of half a write is no more than news: the write comes whole', async () => {
    const { coordinator, write, follow } = open()
    const reader = follow()
    await next(reader)
    coordinator.publish(ONE, write(...facts(3)).slice(0, 2))
    expect(positions((await next(reader)).events)).toEqual([1, 2, 3])
  })

  test('a lost publish is made good within a second, by one question for all who follow', async () => {
    const { clock, store, write, follow } = open()
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
    const { clock, store, follow } = open()
    const reader = follow()
    await next(reader)
    await reader.return?.()
    await clock.advance(10_000)
    expect(store.tailReads).toEqual([])
    expect(clock.pending).toBe(0)
  })

  test('completes after the end of the session, also when its publish was lost', async () => {
    const { clock, commit, follow } = open()
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

    const late = open()
    const reader = late.follow()
    await next(reader)
    late.write(sessionCompleted())
    const all = rest(reader)
    await late.clock.advance(1_000)
    expect((await all).map((batch) => batch.cursor)).toEqual([1])
  })

  test('a cursor beyond the end of an ended session, and a session that does not exist, complete', async () => {
    const { clock, write, follow } = open()
    write(sessionCompleted())
    const readers = [follow({ after: 99 }), follow({ sessionId: sessionNamed('nobody') })]
    const all = Promise.all(readers.map(rest))
    await clock.advance(1_000)
    expect((await all).flat().flatMap((batch) => batch.events)).toEqual([])
  })

  test('a failing look for lost publishes is repeated and logged once', async () => {
    const { clock, store, write, follow, warnings } = open()
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
    const { clock, store, follow } = open()
    follow()
    await clock.advance(5_000)
    expect(store.reads).toEqual([])
    expect(store.tailReads).toEqual([])
  })

  test('the log is read after the acknowledgement; without one, after a second (R5)', async () => {
    const { clock, store, write, follow } = open({ coordinator: { subscribe: () => new Promise(() => undefined) } })
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
      return () => (callback = null)
    }
    const { clock, store, write, follow } = open({ coordinator: { subscribe } })
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
    const { follow } = open({ coordinator: { subscribe: () => new Promise((resolve) => (acknowledge = resolve)) } })
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
    const { store, follow } = open({
      coordinator: { subscribe: (sessionId, callback) => (subscriptions++, local.subscribe(sessionId, callback)) },
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

describe('a slow reader', () => {
  test('is sent back to the log when too much was published, and gets everything once', async () => {
    const { store, commit, follow } = open({ maxBufferedEvents: 10 })
    const reader = follow()
    await next(reader)
    for (const event of facts(25)) commit(event)
    const reads = store.reads.length
    const seen: number[] = []
    while (seen.length < 25) seen.push(...positions((await next(reader)).events))
    expect(seen).toEqual(range(1, 25))
    expect(store.reads.length).toBeGreaterThan(reads)
  })

  test('loses nothing to a single write that is larger than its buffer', async () => {
    const { commit, follow } = open({ maxBufferedEvents: 10 })
    const reader = follow()
    await next(reader)
    commit(...facts(40))
    expect(positions((await next(reader)).events)).toEqual(range(1, 40))
  })

  test('overlapping calls of next are answered in order', async () => {
    const { commit, follow } = open()
    const reader = follow()
    await next(reader)
    const both = Promise.all([next(reader), next(reader)])
    commit(...facts(1))
    commit(...facts(1))
    expect((await both).map((batch) => batch.cursor)).toEqual([1, 2])
  })
})

describe('filters', () => {
  test('send the wanted types; the cursor goes on with what is left out', async () => {
    const { commit, write, follow } = open()
    write(turnResumed('a'), chunk('a', 0, 'x'))
    const reader = follow({ types: ['TURN_RESUMED'] })
    expect(await next(reader)).toMatchObject({ events: [{ position: 1 }], cursor: 2 })
    commit(chunk('a', 1, 'y'))
    commit(turnResumed('b'))
    expect(await next(reader)).toMatchObject({ events: [{ position: 4 }], cursor: 4 })
  })

  test('a batch with nothing in it is not sent, but its cursor comes with the heartbeat', async () => {
    const { clock, commit, follow } = open()
    const reader = follow({ types: ['TURN_RESUMED'] })
    await next(reader)
    const seen = watch(reader.next())
    commit(chunk('a', 0, 'x'))
    await clock.advance(14_999)
    expect(seen.answer).toBeNull()
    await clock.advance(1)
    expect(seen.answer).toMatchObject({ value: { events: [], cursor: 1, caughtUp: true } })
  })

  test.each(['LLM_CHUNK', 'LLM_REASONING', 'LLM_TOOL_INPUT'] as const)('%s brings what retracts it (E4)', async (type) => {
    const { write, follow } = open()
    write(stepInterrupted(), turnResumed('a'))
    expect(await next(follow({ types: [type] }))).toMatchObject({ events: [{ type: 'STEP_INTERRUPTED' }], cursor: 2 })
  })

  test('types that stream nothing bring no retraction', async () => {
    const { write, follow } = open()
    write(stepInterrupted(), turnResumed('a'))
    expect(await next(follow({ types: ['TURN_RESUMED'] }))).toMatchObject({ events: [{ type: 'TURN_RESUMED' }] })
  })

  test('the end of the session completes, also when its event is left out', async () => {
    const { commit, follow } = open()
    const reader = follow({ types: ['TURN_RESUMED'] })
    await next(reader)
    commit(sessionCompleted())
    expect(await rest(reader)).toEqual([])
  })
})

describe('heartbeats', () => {
  test('come after 15 s of silence, and again', async () => {
    const { clock, commit, follow } = open()
    const reader = follow()
    await next(reader)
    await clock.advance(10_000)
    commit(...facts(1))
    await next(reader)
    const first = watch(reader.next())
    await clock.advance(14_000)
    expect(first.answer).toBeNull()
    await clock.advance(1_000)
    expect(first.answer).toMatchObject({ value: { events: [], cursor: 1, caughtUp: true } })
    const second = watch(reader.next())
    await clock.advance(15_000)
    expect(second.answer).toMatchObject({ value: { events: [] } })
  })

  test('come also while the database does not answer', async () => {
    const { clock, store, follow } = open()
    store.hold()
    const seen = watch(follow().next())
    await clock.advance(15_000)
    expect(seen.answer).toMatchObject({ value: { events: [], cursor: 0, caughtUp: false } })
  })
})

describe('leaving', () => {
  const waits = {
    'the acknowledgement': async ({ follow }: ReturnType<typeof open>, signal: AbortSignal) => follow({ signal }),
    'a live event': async ({ follow }: ReturnType<typeof open>, signal: AbortSignal) => {
      const reader = follow({ signal })
      await next(reader)
      return reader
    },
    'a read': async ({ store, follow }: ReturnType<typeof open>, signal: AbortSignal) => {
      store.hold()
      return follow({ signal })
    },
    'the back-off of a read': async ({ clock, store, follow }: ReturnType<typeof open>, signal: AbortSignal) => {
      store.failsReads = true
      const reader = follow({ signal })
      void reader.next()
      await clock.advance(50)
      return reader
    },
  }

  test.each(Object.entries(waits))(
    'abort, return and close complete a reader that waits for %s, and leave nothing behind',
    async (what, wait) => {
      for (const leave of ['abort', 'return', 'close'] as const) {
        const hanging = { coordinator: { subscribe: () => new Promise<never>(() => undefined) } }
        const setup = open(what === 'the acknowledgement' ? hanging : {})
        const controller = new AbortController()
        const reader = await wait(setup, controller.signal)
        const seen = watch(reader.next())
        await settled()
        expect(seen.answer).toBeNull()
        if (leave === 'abort') controller.abort()
        if (leave === 'return') void reader.return?.()
        if (leave === 'close') setup.feed.close()
        await settled()
        expect(seen.answer).toEqual({ done: true, value: undefined })
        expect(await reader.next()).toEqual({ done: true, value: undefined })
        expect(setup.clock.pending).toBe(0)
      }
    },
  )

  test('a signal that has aborted before, and a feed that has closed before, complete at once', async () => {
    const { feed, store, follow } = open()
    expect(await rest(follow({ signal: AbortSignal.abort() }))).toEqual([])
    feed.close()
    expect(await rest(follow())).toEqual([])
    expect(store.reads).toEqual([])
  })

  test('leaving a loop ends the subscription', async () => {
    const { clock, feed, write } = open()
    write(...facts(1))
    for await (const batch of feed.follow(ONE, { after: 0, follow: true, signal: new AbortController().signal })) {
      expect(batch.cursor).toBe(1)
      break
    }
    expect(clock.pending).toBe(0)
  })
})
