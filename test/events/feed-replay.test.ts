import { describe, expect, test } from 'vitest'
import { facts, next, ONE, openFeed, positions, range, rest, watch } from '../support/feed-world.js'
import { chunk, sessionCompleted, stepInterrupted, turnResumed } from '../support/sample-events.js'

describe('replay', () => {
  test('sends the log after the cursor in pages, then says that it has caught up', async () => {
    const { write, follow } = openFeed({ pageSize: 10 })
    for (const event of facts(25)) write(event)
    const reader = follow({ after: 3 })
    const batches = [await next(reader), await next(reader), await next(reader)]
    expect(batches.flatMap((batch) => positions(batch.events))).toEqual(range(4, 25))
    expect(batches.map((batch) => batch.caughtUp)).toEqual([false, false, true])
    expect(batches.map((batch) => batch.cursor)).toEqual(batches.map((batch) => batch.events.at(-1)?.position))
  })

  test('an empty log is said to be caught up with at once', async () => {
    const { follow } = openFeed()
    expect(await next(follow())).toEqual({ events: [], cursor: 0, caughtUp: true })
  })

  test('a page that happens to end at the tail is followed by the news that it was the tail', async () => {
    const { write, follow } = openFeed({ pageSize: 2 })
    write(...facts(2))
    const reader = follow()
    expect(await next(reader)).toMatchObject({ caughtUp: false, cursor: 2 })
    expect(await next(reader)).toEqual({ events: [], caughtUp: true, cursor: 2 })
  })

  test('a batch never cuts a write, also one that is longer than a page', async () => {
    const { write, follow } = openFeed({ pageSize: 5 })
    for (const size of [3, 4, 12, 1, 5, 2]) write(...facts(size))
    const batches = await rest(follow({ follow: false }))
    expect(batches.flatMap((batch) => positions(batch.events))).toEqual(range(1, 27))
    for (const batch of batches) expect(batch.events.at(-1)?.endsWrite ?? true).toBe(true)
  })

  test('a bounded read completes at the tail and neither subscribes nor looks for lost publishes', async () => {
    const { clock, store, write, follow } = openFeed()
    write(...facts(3))
    const batches = await rest(follow({ follow: false }))
    expect(batches.map((batch) => [positions(batch.events), batch.caughtUp])).toEqual([[[1, 2, 3], true]])
    expect(clock.pending).toBe(0)
    expect(store.tailReads).toEqual([])
  })

  test('a session that has ended replays and completes, without a further question', async () => {
    const { store, write, follow } = openFeed()
    write(...facts(2))
    write(sessionCompleted())
    expect((await rest(follow())).flatMap((batch) => positions(batch.events))).toEqual([1, 2, 3])
    expect(await rest(follow({ after: 3 }))).toEqual([{ events: [], cursor: 3, caughtUp: true }])
    expect(store.tailReads).toEqual([])
  })

  test('a cursor in a removed range stays valid', async () => {
    const { store, clock, write, commit, follow } = openFeed()
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
    const { clock, store, write, follow, warnings } = openFeed()
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

describe('filters', () => {
  test('send the wanted types; the cursor goes on with what is left out', async () => {
    const { commit, write, follow } = openFeed()
    write(turnResumed('a'), chunk('a', 0, 'x'))
    const reader = follow({ types: ['TURN_RESUMED'] })
    expect(await next(reader)).toMatchObject({ events: [{ position: 1 }], cursor: 2 })
    commit(chunk('a', 1, 'y'))
    commit(turnResumed('b'))
    expect(await next(reader)).toMatchObject({ events: [{ position: 4 }], cursor: 4 })
  })

  test('a batch with nothing in it is not sent, but its cursor comes with the heartbeat', async () => {
    const { clock, commit, follow } = openFeed()
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
    const { write, follow } = openFeed()
    write(stepInterrupted(), turnResumed('a'))
    expect(await next(follow({ types: [type] }))).toMatchObject({ events: [{ type: 'STEP_INTERRUPTED' }], cursor: 2 })
  })

  test('types that stream nothing bring no retraction', async () => {
    const { write, follow } = openFeed()
    write(stepInterrupted(), turnResumed('a'))
    expect(await next(follow({ types: ['TURN_RESUMED'] }))).toMatchObject({ events: [{ type: 'TURN_RESUMED' }] })
  })

  test('the end of the session completes, also when its event is left out', async () => {
    const { commit, follow } = openFeed()
    const reader = follow({ types: ['TURN_RESUMED'] })
    await next(reader)
    commit(sessionCompleted())
    expect(await rest(reader)).toEqual([])
  })
})
