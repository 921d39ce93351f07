/** Whoever talks to a session over HTTP, one turn after the other, and hears its events on a stream. */
import { systemClock } from '../server/clock.js'
import type { SessionId } from '../server/ids.js'
import type { GraphqlClient } from './graphql-client.js'
import { createWatch, type Spoken } from './watch.js'

export interface Speaker {
  /** One turn, from the call to the event that says that the session rests again. Throws when the turn fails. */
  say(text: string): Promise<Spoken>
  close(): void
}

export async function startSpeaker(client: GraphqlClient, sessionId: SessionId): Promise<Speaker> {
  const watch = createWatch()
  const stream = await client.follow(sessionId, ({ events }) => watch.hear(events))
  return { say: (text) => watch.during(() => client.send(sessionId, text)), close: () => stream.close() }
}

export async function startSpeakers(count: number, start: () => Promise<Speaker>): Promise<readonly Speaker[]> {
  return Promise.all(Array.from({ length: count }, start))
}

/** Milliseconds until all of them have said it so often. */
export async function speakTogether(speakers: readonly Speaker[], text: string, turns: number): Promise<number> {
  const started = systemClock.monotonic()
  await Promise.all(
    speakers.map(async (speaker) => {
      for (let turn = 0; turn < turns; turn += 1) await speaker.say(text)
    }),
  )
  return systemClock.monotonic() - started
}
