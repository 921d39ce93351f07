/** A feed on a clock that stands still, over logs in memory, and readers of it. */
import { createLocalCoordinator } from '../../server/coordination/local.js'
import type { EventBatch } from '../../server/events/event-batch.js'
import { createFeed, type FeedOptions } from '../../server/events/feed.js'
import type { EventType, NewEvent, RecordedEvent } from '../../server/session/events.js'
import { createFakeClock } from './fake-clock.js'
import { createLogStore, sessionNamed } from './log-store.js'
import { turnResumed } from './sample-events.js'

export const ONE = sessionNamed('one')
export const TWO = sessionNamed('two')

/** A coordinator of which nothing but `subscribe` matters. */
export function subscribingBy(subscribe: FeedOptions['coordinator']['subscribe']): FeedOptions['coordinator'] {
  return { subscribe, onGap: () => () => undefined }
}

export function openFeed(options: Partial<FeedOptions> = {}) {
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

export type Reader = AsyncIterator<EventBatch>

export async function next(reader: Reader): Promise<EventBatch> {
  const result = await reader.next()
  if (result.done === true) throw new Error('it completed')
  return result.value
}

export async function rest(reader: Reader): Promise<readonly EventBatch[]> {
  const batches: EventBatch[] = []
  for (let result = await reader.next(); result.done !== true; result = await reader.next()) batches.push(result.value)
  return batches
}

/** Whether it has been answered by now, and with what. */
export function watch(pull: Promise<IteratorResult<EventBatch>>): { answer: IteratorResult<EventBatch> | null; failure: unknown } {
  const seen: { answer: IteratorResult<EventBatch> | null; failure: unknown } = { answer: null, failure: null }
  pull.then(
    (answer) => (seen.answer = answer),
    (failure: unknown) => (seen.failure = failure),
  )
  return seen
}

export const positions = (events: readonly RecordedEvent[]) => events.map((event) => event.position)
export const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)
export const facts = (count: number) => Array.from({ length: count }, (_, index) => turnResumed(String(index)))
