import { describe, expect, it } from 'vitest'
import {
  ALICE,
  EXPIRED_MS,
  TTL_MS,
  acting,
  callRow,
  chunk,
  claimDue,
  claimNew,
  ids,
  message,
  newCommit,
  newKey,
  newSession,
  openTurn,
  turnRow,
} from '../../support/store-fixtures.js'
import type { Subject } from '../session-store.js'

const BAD = 'a\0b\ud800c\udc00d'
const CLEAN = 'a\ufffdb\ufffdc\ufffdd'
/** Must come back as it went in: a whole pair, an escape that only looks like one, quotes and lines. */
const GOOD = '😀 \\u0000 \\\\ "x" \n\u2028'

export function testText(subject: Subject): void {
  describe('text that PostgreSQL does not take', () => {
    it('is replaced in messages, titles, metadata and its keys, owners, addresses and keys', async () => {
      const { store, clock } = subject()
      const owner = { tenant: `t${BAD}`, id: `o${BAD}`, kind: 'USER', name: BAD } as const
      const unique = ids.next('req')
      const idempotency = newKey({ by: owner, key: unique + BAD })
      const made = newSession(clock, {
        owner,
        title: BAD,
        metadata: { [BAD]: [BAD, GOOD] },
        addresses: [unique + BAD],
        history: [{ role: 'user', text: BAD + GOOD }],
        firstDelivery: message(clock, BAD + GOOD, owner),
        idempotency,
      })
      expect((await store.createSession(made)).kind).toBe('created')
      expect(await store.findAddress(owner.tenant, unique + BAD)).toBe(made.id)
      expect(await store.findKey(idempotency)).toMatchObject({ kind: 'duplicate', sessionId: made.id })
      const session = await claimDue(store, made.id, made.agent)
      expect(session.facts).toMatchObject({ title: CLEAN, metadata: { [CLEAN]: [CLEAN, GOOD] }, owner: { id: `o${CLEAN}`, name: CLEAN } })
      expect(session.deliveries).toMatchObject([{ text: CLEAN + GOOD }])
      expect(await store.loadHistory(made.id, 0)).toEqual([{ role: 'user', text: CLEAN + GOOD }])
    })

    it('is replaced in tool input and output, errors and events; live readers get what the log holds', async () => {
      const { store, clock } = subject()
      const session = await claimNew(subject())
      const [turn, stepId] = [openTurn(clock), ids.next('stp')]
      const result = {
        output: { [BAD]: GOOD },
        text: BAD,
        error: { code: 'X', message: BAD, retryable: false },
        truncatedBytes: 0,
        endedAt: 5,
      }
      const call = callRow(turn.id, stepId, { name: BAD, label: BAD, input: [BAD], rawInput: BAD, status: 'FAILED', startedAt: 4, result })
      const commit = newCommit(session, {
        checkpoint: acting(session.checkpoint, turn, stepId, []),
        openedTurn: { ...turnRow(turn), userInput: BAD, principal: { ...ALICE, name: BAD } },
        newCalls: [call],
        events: [chunk(clock, BAD)],
      })
      const outcome = await store.commit(session, commit, TTL_MS)
      const appended = await store.appendEvents([{ lease: session.lease, events: [chunk(clock, BAD + GOOD)] }], EXPIRED_MS)
      const log = await store.readEvents(session.facts.id, 0, 10)
      expect(log.map(({ data }) => 'text' in data && data.text)).toEqual([CLEAN, CLEAN + GOOD])
      expect(outcome).toEqual({ kind: 'committed', events: log.slice(0, 1) })
      expect(appended.get(session.facts.id)).toEqual({ kind: 'appended', events: log.slice(1) })
      const next = await claimDue(store, session.facts.id, session.facts.agent)
      expect(next.calls.get(call.id)).toMatchObject({
        name: CLEAN,
        label: CLEAN,
        input: [CLEAN],
        rawInput: CLEAN,
        result: { output: { [CLEAN]: GOOD }, text: CLEAN, error: { message: CLEAN } },
      })
    })

    it('finds nothing, and does not fail, in an id', async () => {
      const { store } = subject()
      expect(await store.findAddress('acme', BAD)).toBe(null)
      expect(await store.findKey(newKey({ key: BAD }))).toBe(null)
    })
  })
}
