/** A session that is talked to in process, one turn after the other. */
import type { RequestId, SessionId } from '../server/ids.js'
import { NO_ANSWER } from '../server/session/requests.js'
import { AGENT, ASK } from './agent.js'
import { CALLER, type Engine } from './engine.js'
import type { Speaker } from './speaker.js'
import { createWatch, type Spoken, type Watched } from './watch.js'

export async function startTalk(engine: Engine): Promise<Speaker> {
  return resumeTalk(engine, await createSession(engine))
}

/** With a session that exists and rests. */
export async function resumeTalk(engine: Engine, sessionId: SessionId): Promise<Speaker> {
  const watch = createWatch()
  const close = await engine.coordinator.subscribe(sessionId, (events) => watch.hear(events))
  return { close, say: (text) => watch.during(() => sendInProcess(engine, sessionId, text)) }
}

/** A new session that waits for a person to allow its call. */
export async function startWaiting(engine: Engine): Promise<SessionId> {
  const sessionId = await createSession(engine)
  await watchOnce(engine, sessionId, { rest: 'TURN_WAITING' }, () => sendInProcess(engine, sessionId, ASK))
  return sessionId
}

/** Allows the call that a session waits with. The first event is the start of the call. */
export async function approve(engine: Engine, sessionId: SessionId, requestId: RequestId): Promise<Spoken> {
  return watchOnce(engine, sessionId, { first: 'TOOL_CALL_START' }, async () => {
    const answers = [{ ...NO_ANSWER, requestId, decision: 'APPROVE', reason: null }] as const
    const outcome = await engine.intake.deliver(CALLER, { kind: 'session', sessionId }, { kind: 'ANSWERS', answers }, null)
    if (outcome.kind !== 'accepted') throw new Error(`an answer was not accepted: ${outcome.kind}`)
  })
}

async function watchOnce(engine: Engine, sessionId: SessionId, watched: Watched, send: () => Promise<void>): Promise<Spoken> {
  const watch = createWatch(watched)
  const close = await engine.coordinator.subscribe(sessionId, (events) => watch.hear(events))
  try {
    return await watch.during(send)
  } finally {
    close()
  }
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
