import { describe, expect, test } from 'vitest'
import { settled } from '../support/fake-clock.js'
import { facts, next, ONE, openFeed, positions, range, rest, subscribingBy, watch } from '../support/feed-world.js'
import { sessionCompleted } from '../support/sample-events.js'

describe('a slow reader', () => {
  test('is sent back to the log when too much was published, and gets everything once', async () => {
    const { store, commit, follow } = openFeed({ maxBufferedEvents: 10 })
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
    const { commit, follow } = openFeed({ maxBufferedEvents: 10 })
    const reader = follow()
    await next(reader)
    commit(...facts(40))
    expect(positions((await next(reader)).events)).toEqual(range(1, 40))
  })

  test('overlapping calls of next are answered in order', async () => {
    const { commit, follow } = openFeed()
    const reader = follow()
    await next(reader)
    const both = Promise.all([next(reader), next(reader)])
    commit(...facts(1))
    commit(...facts(1))
    expect((await both).map((batch) => batch.cursor)).toEqual([1, 2])
  })
})

describe('heartbeats', () => {
  test('come after 15 s of silence, and again', async () => {
    const { clock, commit, follow } = openFeed()
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
    const { clock, store, follow } = openFeed()
    store.hold()
    const seen = watch(follow().next())
    await clock.advance(15_000)
    expect(seen.answer).toMatchObject({ value: { events: [], cursor: 0, caughtUp: false } })
  })
})

describe('leaving', () => {
  const waits = {
    'the acknowledgement': async ({ follow }: ReturnType<typeof openFeed>, signal: AbortSignal) => follow({ signal }),
    'a live event': async ({ follow }: ReturnType<typeof openFeed>, signal: AbortSignal) => {
      const reader = follow({ signal })
      await next(reader)
      return reader
    },
    'a read': async ({ store, follow }: ReturnType<typeof openFeed>, signal: AbortSignal) => {
      store.hold()
      return follow({ signal })
    },
    'the back-off of a read': async ({ clock, store, follow }: ReturnType<typeof openFeed>, signal: AbortSignal) => {
      store.failsReads = true
      const reader = follow({ signal })
      void reader.next()
      await clock.advance(50)
      return reader
    },
  }

  test.each(Object.entries(waits))(
    'abort and return complete a reader that waits for %s, close ends it with SHUTTING_DOWN, and all leave nothing behind (F4, F5)',
    async (what, wait) => {
      for (const leave of ['abort', 'return', 'close'] as const) {
        const hanging = { coordinator: subscribingBy(() => new Promise<never>(() => undefined)) }
        const setup = openFeed(what === 'the acknowledgement' ? hanging : {})
        const controller = new AbortController()
        const reader = await wait(setup, controller.signal)
        const seen = watch(reader.next())
        await settled()
        expect(seen.answer).toBeNull()
        if (leave === 'abort') controller.abort()
        if (leave === 'return') void reader.return?.()
        if (leave === 'close') setup.feed.close()
        await settled()
        if (leave === 'close') {
          expect(seen.failure).toMatchObject({ code: 'SHUTTING_DOWN' })
          await expect(reader.next()).rejects.toMatchObject({ code: 'SHUTTING_DOWN' })
        } else {
          expect(seen.answer).toEqual({ done: true, value: undefined })
          expect(await reader.next()).toEqual({ done: true, value: undefined })
        }
        expect(setup.clock.pending).toBe(0)
      }
    },
  )

  test("a read that fails after its reader has left is nobody's concern", async () => {
    const { clock, store, follow, warnings } = openFeed()
    const release = store.hold()
    store.failsReads = true
    const reader = follow()
    void reader.next()
    await settled()
    await reader.return?.()
    release()
    await settled()
    expect(clock.pending).toBe(0)
    expect(warnings).toEqual([])
  })

  test('a signal that has aborted before completes at once, a feed that has closed before ends with SHUTTING_DOWN', async () => {
    const { feed, store, follow } = openFeed()
    expect(await rest(follow({ signal: AbortSignal.abort() }))).toEqual([])
    feed.close()
    for (const live of [true, false]) await expect(rest(follow({ follow: live }))).rejects.toMatchObject({ code: 'SHUTTING_DOWN' })
    expect(store.reads).toEqual([])
  })

  test.each([true, false])('close in the middle of a replay is an error, after its end it is none (F5; follow: %s)', async (live) => {
    const { feed, commit, follow } = openFeed({ pageSize: 2 })
    commit(...facts(1))
    commit(...facts(1))
    commit(...facts(1), sessionCompleted())
    const [cut, whole] = [follow({ follow: live }), follow({ follow: live })]
    expect((await next(cut)).caughtUp).toBe(false)
    await next(whole)
    expect((await next(whole)).caughtUp).toBe(true)
    feed.close()
    await expect(cut.next()).rejects.toMatchObject({ code: 'SHUTTING_DOWN' })
    expect(await rest(whole)).toEqual([])
  })

  test('leaving a loop ends the subscription', async () => {
    const { clock, feed, write } = openFeed()
    write(...facts(1))
    for await (const batch of feed.follow(ONE, { after: 0, follow: true, signal: new AbortController().signal })) {
      expect(batch.cursor).toBe(1)
      break
    }
    expect(clock.pending).toBe(0)
  })
})
