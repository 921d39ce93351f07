/** First event: from a message to a session at rest to the first event of its turn at a subscriber who waits, in process and over HTTP. */
import { systemClock } from '../server/clock.js'
import { SIMPLE } from './agent.js'
import type { Bench } from './bench.js'
import type { FirstEvent } from './results.js'
import { createSeries, toRatio, toTiming, type Series } from './series.js'
import { createRests, createSession, sendInProcess, type Rests } from './talk.js'

interface Way {
  readonly send: (text: string) => Promise<void>
  /** Monotonic time of the first event since `expect`. */
  readonly watch: Watch
  readonly close: () => void
}

interface Watch extends Rests {
  expect(): Promise<number>
}

export interface FirstEventSeries {
  readonly sinceSent: Series
  /** Filled together with `sinceSent`. */
  readonly sinceAccepted: Series
  readonly close: () => void
}

export async function createInProcess({ engine, sizes }: Bench): Promise<FirstEventSeries> {
  const sessionId = await createSession(engine)
  const watch = createWatch()
  const left = new AbortController()
  const listen = async (): Promise<void> => {
    for await (const { events } of engine.feed.follow(sessionId, { after: 0, follow: true, signal: left.signal })) watch.hear(events)
  }
  // A run that is stopped closes the feed under it.
  listen().catch(() => undefined)
  return toSeries(sizes.sends, { send: (text) => sendInProcess(engine, sessionId, text), watch, close: () => left.abort() })
}

export async function createOverHttp({ engine, client, sizes }: Bench): Promise<FirstEventSeries> {
  const sessionId = await createSession(engine)
  const watch = createWatch()
  const stream = await client.follow(sessionId, ({ events }) => watch.hear(events))
  return toSeries(sizes.sends, { send: (text) => client.send(sessionId, text), watch, close: () => stream.close() })
}

function toSeries(sends: number, { send, watch, close }: Way): FirstEventSeries {
  const sinceAccepted = createSeries(() => Promise.resolve([]))
  const sinceSent = createSeries(async () => {
    const sent: number[] = []
    const accepted: number[] = []
    while (sent.length < sends) {
      const [first, rested] = [watch.expect(), watch.next()]
      const sentAt = systemClock.monotonic()
      const acceptedAt = send(SIMPLE).then(() => systemClock.monotonic())
      const eventAt = await first
      sent.push(eventAt - sentAt)
      accepted.push(Math.max(0, eventAt - (await acceptedAt)))
      await rested
    }
    sinceAccepted.rounds.push(accepted)
    return sent
  })
  return { sinceSent, sinceAccepted, close }
}

function createWatch(): Watch {
  const rests = createRests()
  let tell: ((at: number) => void) | null = null
  return {
    next: () => rests.next(),
    expect: () => new Promise((resolve) => (tell = resolve)),
    hear(events) {
      if (events.length === 0) return
      tell?.(systemClock.monotonic())
      tell = null
      rests.hear(events)
    },
  }
}

export function toFirstEvent({ sinceSent, sinceAccepted }: FirstEventSeries, bare: Series): FirstEvent {
  // The round that does not count was noted too.
  const accepted = { ...sinceAccepted, rounds: sinceAccepted.rounds.slice(1) }
  return {
    sinceSent: toTiming(sinceSent),
    sinceAccepted: toTiming(accepted),
    sentToBare: toRatio(sinceSent, bare),
    acceptedToBare: toRatio(accepted, bare),
  }
}
