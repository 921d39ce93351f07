/** A session whose log is written directly, as a worker does while a model streams: nobody else drives it. */
import { systemClock as clock } from '../server/clock.js'
import type { StreamedEvent } from '../server/session/events.js'
import type { Lease } from '../server/session/session.js'
import { CALLER, DEPLOYMENT, type Engine } from './engine.js'

/** An agent that no process serves. */
const NOBODY = 'bench-log'
/** Each append extends the lease by it. */
export const LOG_LEASE_MS = 60_000

export interface OpenLog {
  readonly lease: Lease
  /** A piece of streamed text. */
  readonly piece: (offset: number, text: string) => StreamedEvent
}

export async function openLog({ store, ids }: Engine): Promise<OpenLog> {
  const sessionId = ids.next('ses')
  const content = { kind: 'MESSAGE', text: 'Tell me a long story', policy: 'STEER' } as const
  const firstDelivery = { id: ids.next('dlv'), by: CALLER, content, acceptedAt: clock.now() }
  await store.createSession({
    ...{
      id: sessionId,
      agent: NOBODY,
      mode: 'CONVERSATION',
      idleTimeoutMs: null,
      owner: CALLER,
      title: null,
      metadata: {},
      addresses: [],
      deployment: DEPLOYMENT,
      history: [],
    },
    ...{ createdAt: clock.now(), firstDelivery, idempotency: null },
  })
  const claimed = await store.claim(sessionId, { owner: ids.next('wrk'), ttlMs: LOG_LEASE_MS, agents: [NOBODY] })
  if (claimed === 'not-due') throw new Error('a log could not be written: its session is not due')
  const scope = { turnId: ids.next('turn'), stepIndex: 0, attempt: 1 }
  const blockId = ids.next('blk')
  return {
    lease: claimed.lease,
    piece: (offset, text) => ({ ...scope, type: 'LLM_CHUNK', data: { blockId, offset, text }, at: clock.now() }),
  }
}
