/** First event: from a message to a session at rest to the first event of its turn at a subscriber who waits, in process and over HTTP. */
import { SIMPLE } from './agent.js'
import type { Bench } from './bench.js'
import type { FirstEvent } from './results.js'
import { createSeries, toRatio, toTiming, type Series } from './series.js'
import { startSpeaker, type Speaker } from './speaker.js'
import { createSession, sendInProcess } from './talk.js'
import { createWatch } from './watch.js'

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
  return toSeries(sizes.sends, { say: (text) => watch.during(() => sendInProcess(engine, sessionId, text)), close: () => left.abort() })
}

export async function createOverHttp({ engine, client, sizes }: Bench): Promise<FirstEventSeries> {
  return toSeries(sizes.sends, await startSpeaker(client, await createSession(engine)))
}

function toSeries(sends: number, speaker: Speaker): FirstEventSeries {
  const sinceAccepted = createSeries(() => Promise.resolve([]))
  const sinceSent = createSeries(async () => {
    const sent: number[] = []
    const accepted: number[] = []
    while (sent.length < sends) {
      const { acceptedMs, firstEventMs } = await speaker.say(SIMPLE)
      sent.push(firstEventMs)
      accepted.push(Math.max(0, firstEventMs - acceptedMs))
    }
    sinceAccepted.rounds.push(accepted)
    return sent
  })
  return { sinceSent, sinceAccepted, close: () => speaker.close() }
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
