/** What must hold of every session that a test ran: the rules of its log and of its history. */
import { expect } from 'vitest'
import type { SessionId } from '../../server/ids.js'
import type { RecordedEvent } from '../../server/session/events.js'
import type { SessionStore } from '../../server/session/ports.js'
import { checkHistory } from './check-history.js'
import { checkLog } from './check-log.js'
import { readLog } from './world.js'

/** For a session at rest, without an imported history. Gives its log. */
export async function expectSound(store: SessionStore, sessionId: SessionId): Promise<readonly RecordedEvent[]> {
  const log = await readLog(store, sessionId)
  expect(checkLog(log)).toEqual([])
  for (const [epoch, part] of splitByEpoch(log).entries()) expect(checkHistory(await store.loadHistory(sessionId, epoch), part)).toEqual([])
  return log
}

/** What happened in each epoch of the history: a clear begins the next one. */
function splitByEpoch(log: readonly RecordedEvent[]): readonly (readonly RecordedEvent[])[] {
  const parts: RecordedEvent[][] = [[]]
  for (const event of log) {
    if (event.type === 'CONTEXT_CLEARED') parts.push([])
    else parts.at(-1)?.push(event)
  }
  return parts
}
