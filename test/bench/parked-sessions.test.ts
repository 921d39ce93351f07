/** Sessions in bulk: copies of one that waits are sessions like any other. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startEngine, type Engine } from '../../bench/engine.js'
import { parkedId, parkedRequestId, parkSessions } from '../../bench/parked-sessions.js'
import { createPlace, type Place } from '../../bench/place.js'
import { approve, startWaiting } from '../../bench/talk.js'
import { defineStatement } from '../../server/store/database.js'
import { toText } from '../../server/store/json-column.js'
import { createTestDatabase, type TestDatabase } from '../support/databases.js'

const COPIES = 3
let database: TestDatabase
let place: Place
let engine: Engine
const warnings: string[] = []
beforeAll(async () => (database = await createTestDatabase()))
afterAll(() => database.drop())
beforeEach(async () => {
  place = await createPlace({ databaseUrl: database.url, redisUrl: null })
  engine = await startEngine({ place, warn: (message) => warnings.push(message) })
})
afterEach(async () => {
  await engine.close()
  await place.drop()
  expect(warnings.splice(0)).toEqual([])
})

const SESSIONS = defineStatement<{ readonly id: string; readonly state: string; readonly calls: string; readonly hash: string }>(
  'test-sessions',
  `SELECT s.id, c.body::text AS state, concat(s.status, ' ', t.status, ' ', q.status) AS calls, q.input_hash AS hash
FROM session s JOIN checkpoint c ON c.session_id = s.id JOIN tool_call t ON t.session_id = s.id JOIN request q ON q.tool_call_id = t.id
ORDER BY s.id`,
)
const HISTORY = defineStatement<{ readonly call: string; readonly result: string }>(
  'test-history',
  `SELECT a.item #>> '{calls,0,id}' AS call, r.item ->> 'callId' AS result FROM history a JOIN history r USING (session_id)
WHERE session_id = $1 AND a.item ->> 'role' = 'assistant' AND a.position = 1 AND r.item ->> 'role' = 'tool'`,
)

describe('copies of a session that waits', () => {
  it('name their own turn, step, call and request, and nothing of the original', async ({ signal }) => {
    const original = await startWaiting(engine)
    await parkSessions(place.databaseUrl ?? '', original, COPIES, signal)
    const rows = await engine.database.query(SESSIONS, [])
    expect(rows.map(({ id }) => id)).toEqual([parkedId(1), parkedId(2), parkedId(3), original])
    expect(new Set(rows.map(({ hash }) => hash)).size).toBe(1)
    const ids = rows.map(({ state }) => state.match(/[a-z]{3,4}_[0-7][0-9a-z]{25}/g) ?? [])
    expect(ids[1]?.map((id) => id.replace(/_.*/, '')).sort()).toEqual(ids[3]?.map((id) => id.replace(/_.*/, '')).sort())
    expect(new Set(ids[1]?.map((id) => id.replace(/.*_/, '')))).toEqual(new Set([parkedId(2).slice('ses_'.length)]))
  })

  it('go on each for itself when they are answered, with the call that was asked for', async ({ signal }) => {
    await parkSessions(place.databaseUrl ?? '', await startWaiting(engine), COPIES, signal)
    const { acceptedMs, firstEventMs, turnMs } = await approve(engine, parkedId(2), parkedRequestId(2))
    expect([acceptedMs, firstEventMs, turnMs]).toEqual([acceptedMs, firstEventMs, turnMs].sort((one, other) => one - other))
    const waits = 'WAITING_FOR_APPROVAL WAITING_FOR_APPROVAL PENDING'
    expect((await engine.database.query(SESSIONS, [])).map(({ calls }) => calls)).toEqual([waits, 'IDLE COMPLETED ANSWERED', waits, waits])
    const call = parkedId(2).replace('ses_', 'call_')
    expect(await engine.database.query(HISTORY, [toText(parkedId(2))])).toEqual([{ call, result: call }])
  })
})
