/** A session that is talked to in process, one turn after the other. */
import type { SessionId } from '../server/ids.js'
import type { RecordedEvent } from '../server/session/events.js'
import { AGENT } from './agent.js'
import { CALLER, type Engine } from './engine.js'

export interface Talk {
  readonly sessionId: SessionId
  /** One turn, from the call to the event that says that the session rests again. Throws when the turn fails. */
  say(text: string): Promise<void>
  close(): void
}

export async function startTalk(engine: Engine): Promise<Talk> {
  const sessionId = await createSession(engine)
  const rests = createRests()
  const close = await engine.coordinator.subscribe(sessionId, (events) => rests.hear(events))
  return {
    sessionId,
    close,
    async say(text) {
      const rested = rests.next()
      await sendInProcess(engine, sessionId, text)
      await rested
    },
  }
}

export async function startTalks(engine: Engine, count: number): Promise<readonly Talk[]> {
  return Promise.all(Array.from({ length: count }, () => startTalk(engine)))
}

export async function createSession({ intake }: Engine): Promise<SessionId> {
  const spec = { agent: AGENT, title: null, metadata: {}, addresses: [], history: [] }
  const outcome = await intake.create(CALLER, spec, null)
  if (outcome.kind !== 'accepted') throw new Error(`no session could be made: ${outcome.kind}`)
  return outcome.sessionId
}

export async function sendInProcess({ intake }: Engine, sessionId: SessionId, text: string): Promise<void> {
  const outcome = await intake.deliver(CALLER, { kind: 'session', sessionId }, { kind: 'MESSAGE', text, policy: 'STEER' }, null)
  if (outcome.kind !== 'accepted') throw new Error(`a message was not accepted: ${outcome.kind}`)
}

/** Tells the end of a turn from its events. */
export interface Rests {
  hear(events: readonly Pick<RecordedEvent, 'type'>[]): void
  next(): Promise<void>
}

export function createRests(): Rests {
  let settle: { resolve(): void; reject(reason: Error): void } | null = null
  return {
    hear(events) {
      if (events.some(({ type }) => type === 'TURN_FAILED')) settle?.reject(new Error('a turn of the bench failed'))
      if (events.some(({ type }) => type === 'SESSION_WAITING')) settle?.resolve()
    },
    next: () => new Promise((resolve, reject) => (settle = { resolve, reject })),
  }
}
