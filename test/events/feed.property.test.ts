import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { EventBatch } from '../../server/events/event-batch.js'
import { createFeed, type Feed } from '../../server/events/feed.js'
import type { EventType, RecordedEvent } from '../../server/session/events.js'
import { createFakeClock, settled } from '../support/fake-clock.js'
import { createLogStore, sessionNamed } from '../support/log-store.js'
import { chunk, sessionCompleted, turnResumed } from '../support/sample-events.js'
import { subscribingBy } from '../support/feed-world.js'

const ONE = sessionNamed('one')
const READERS = 3

const reader = fc.nat({ max: READERS - 1 })
const command = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('write'),
      kinds: fc.array(fc.constantFrom('chunk', 'fact'), { minLength: 1, maxLength: 9 }),
      publish: fc.constantFrom('now', 'lost', 'twice', 'later'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('publish-late') }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('pull'), reader }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reconnect'), reader }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('start-at'), reader, share: fc.double({ min: 0, max: 1, noNaN: true }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.constantFrom(0, 10, 500, 1_000, 20_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reads'), fail: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hold') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release') }) },
)
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never

/** One subscriber, with everything that it was sent since it began at `from`, over any number of connections. */
class Reader {
  readonly #feed: Feed
  readonly #types: ReadonlySet<EventType> | undefined
  #batches: AsyncIterator<EventBatch>
  #connection = 0
  #isPulling = false
  from: number
  cursor: number
  events: RecordedEvent[] = []
  isComplete = false

  constructor(feed: Feed, from: number, types: ReadonlySet<EventType> | undefined) {
    this.#feed = feed
    this.#types = types
    this.from = from
    this.cursor = from
    this.#batches = this.#connect()
  }

  startAt(position: number): void {
    this.from = position
    this.cursor = position
    this.events = []
    this.reconnect()
  }

  reconnect(): void {
    void this.#batches.return?.()
    this.#batches = this.#connect()
  }

  pull(): void {
    if (this.#isPulling || this.isComplete) return
    this.#isPulling = true
    const connection = this.#connection
    void this.#batches.next().then((result) => {
      if (connection !== this.#connection) return
      this.#isPulling = false
      if (result.done === true) this.isComplete = true
      else this.#take(result.value)
    })
  }

  wants(event: RecordedEvent): boolean {
    return event.position > this.from && (this.#types?.has(event.type) ?? true)
  }

  #connect(): AsyncIterator<EventBatch> {
    this.#connection += 1
    this.#isPulling = false
    this.isComplete = false
    const { signal } = new AbortController()
    return this.#feed.follow(ONE, { after: this.cursor, follow: true, types: this.#types, signal })[Symbol.asyncIterator]()
  }

  #take(batch: EventBatch): void {
    expect(batch.cursor).toBeGreaterThanOrEqual(this.cursor)
    if (this.#types === undefined && batch.events.length > 0)
      expect(batch.events.at(-1)).toMatchObject({ endsWrite: true, position: batch.cursor })
    this.cursor = batch.cursor
    this.events.push(...batch.events)
  }
}

class Run {
  readonly clock = createFakeClock()
  readonly store = createLogStore()
  readonly readers: readonly Reader[]
  readonly #late: (readonly RecordedEvent[])[] = []
  readonly #subscribers = new Set<(events: readonly RecordedEvent[]) => void>()
  #release = (): void => undefined

  constructor() {
    const subscribe = async (_: unknown, callback: (events: readonly RecordedEvent[]) => void) => {
      this.#subscribers.add(callback)
      return () => this.#subscribers.delete(callback)
    }
    const log = { warn: () => undefined }
    const feed = createFeed({
      store: this.store,
      coordinator: subscribingBy(subscribe),
      clock: this.clock,
      log,
      pageSize: 5,
      maxBufferedEvents: 12,
    })
    this.store.write(ONE, [])
    const facts = new Set<EventType>(['TURN_RESUMED', 'SESSION_COMPLETED'])
    this.readers = Array.from({ length: READERS }, (_, index) => new Reader(feed, 0, index === 0 ? facts : undefined))
  }

  async do(step: Command): Promise<void> {
    switch (step.do) {
      case 'write':
        this.#write(step)
        return
      case 'publish-late':
        this.#publish(this.#late.shift() ?? [])
        return
      case 'pull':
        this.readers[step.reader]?.pull()
        return
      case 'reconnect':
        this.readers[step.reader]?.reconnect()
        return
      case 'start-at':
        this.readers[step.reader]?.startAt(this.#someWriteEnd(step.share))
        return
      case 'pass':
        return this.clock.advance(step.ms)
      case 'reads':
        this.store.failsReads = step.fail
        return
      case 'hold':
        this.#release()
        this.#release = this.store.hold()
        return
      case 'release':
        this.#release()
        return
    }
  }

  /** The session ends, the database is there, and everybody reads to the end. */
  async finish(): Promise<void> {
    this.#release()
    this.store.failsReads = false
    this.store.write(ONE, [sessionCompleted()])
    for (let round = 0; round < 200 && this.readers.some((each) => !each.isComplete); round += 1) {
      for (const each of this.readers) each.pull()
      await this.clock.advance(500)
    }
  }

  check(): void {
    for (const each of this.readers) {
      expect(each.isComplete).toBe(true)
      expect(each.events).toEqual(this.store.log(ONE).filter((event) => each.wants(event)))
    }
    expect(this.clock.pending).toBe(0)
    expect(this.#subscribers.size).toBe(0)
  }

  #write({ kinds, publish }: { readonly kinds: readonly string[]; readonly publish: string }): void {
    const recorded = this.store.write(
      ONE,
      kinds.map((kind) => (kind === 'chunk' ? chunk('a', 0, 'x') : turnResumed('a'))),
    )
    if (publish === 'later') this.#late.push(recorded)
    if (publish === 'now' || publish === 'twice') this.#publish(recorded)
    if (publish === 'twice') this.#publish(recorded)
  }

  #publish(events: readonly RecordedEvent[]): void {
    for (const subscriber of this.#subscribers) subscriber(events)
  }

  #someWriteEnd(share: number): number {
    const ends = this.store.log(ONE).filter((event) => event.endsWrite)
    return ends[Math.floor(share * ends.length)]?.position ?? 0
  }
}

test('whatever is lost, doubled, late, slow or reconnected, every subscriber sees every later event once, in order (F1)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 80 }), async (commands) => {
      const run = new Run()
      for (const step of commands) {
        await run.do(step)
        await settled()
      }
      await run.finish()
      run.check()
    }),
    { numRuns: 300 },
  )
})
