/** A session that is talked to in process, one turn after the other. */
import type { SessionId } from '../server/ids.js'
import { AGENT } from './agent.js'
import { CALLER, type Engine } from './engine.js'
import type { Speaker } from './speaker.js'
import { createWatch } from './watch.js'

export async function startTalk(engine: Engine): Promise<Speaker> {
  return resumeTalk(engine, await createSession(engine))
}

/** With a session that exists and rests. */
export async function resumeTalk(engine: Engine, sessionId: SessionId): Promise<Speaker> {
  const watch = createWatch()
  const close = await engine.coordinator.subscribe(sessionId, (events) => watch.hear(events))
  return { close, say: (text) => watch.during(() => sendInProcess(engine, sessionId, text)) }
}

export async function createSession({ intake }: Engine): Promise<SessionId> {
  const spec = { agent: AGENT, mode: null, idleTimeoutMs: null, title: null, metadata: {}, addresses: [], history: [] }
  const outcome = await intake.create(CALLER, spec, null)
  if (outcome.kind !== 'accepted') throw new Error(`no session could be made: ${outcome.kind}`)
  return outcome.sessionId
}

export async function sendInProcess({ intake }: Engine, sessionId: SessionId, text: string): Promise<void> {
  const outcome = await intake.deliver(CALLER, { kind: 'session', sessionId }, { kind: 'MESSAGE', text, policy: 'STEER' }, null)
  if (outcome.kind !== 'accepted') throw new Error(`a message was not accepted: ${outcome.kind}`)
}
