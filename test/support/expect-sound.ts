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
  expect(checkHistory(await store.loadHistory(sessionId, 0), log)).toEqual([])
  return log
}
