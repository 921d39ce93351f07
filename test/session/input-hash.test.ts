import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock as clock } from '../../server/clock.js'
import type { Json } from '../../server/errors.js'
import { hashInput } from '../../server/session/input-hash.js'
import { openTestPostgres } from '../support/databases.js'
import { acting, callRow, claimDue, claimNew, ids, newCommit, openTurn, TTL_MS } from '../support/store-fixtures.js'

test('arguments have one hash whatever the order of their keys, and another one for each change', () => {
  expect(hashInput({ a: 1, b: { c: [1, 2], d: null } })).toBe(hashInput({ b: { d: null, c: [1, 2] }, a: 1 }))
  const others: readonly Json[] = [{ a: 1 }, { a: '1' }, { a: 2 }, { b: 1 }, [1], { a: [1] }, { a: { a: 1 } }, null, 1]
  expect(new Set(others.map(hashInput)).size).toBe(others.length)
})

test('whatever a model may ask for has the same hash when it comes back from the database', async () => {
  const opened = await openTestPostgres()
  const inputs = fc.sample(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 2, noUnicodeString: false })), 60)
  const awkward = [
    { a: '\0', '\ud800': '\udfff x', '': 1e21, n: -0, big: 12345678901234567890 },
    { b: 1, a: { z: 1, aa: 2 } },
  ]
  const session = await claimNew({ ...opened, clock })
  const [turn, stepId] = [openTurn(clock), ids.next('stp')]
  const calls = [...awkward, ...inputs].map((input, order) => {
    // As it is parsed from what the model wrote.
    const parsed: unknown = JSON.parse(JSON.stringify(input))
    return callRow(turn.id, stepId, { order, input: parsed as Json })
  })
  await opened.store.commit(
    session,
    newCommit(session, { checkpoint: acting(session.checkpoint, turn, stepId, calls), newCalls: calls }),
    TTL_MS,
  )
  await opened.store.release([session.lease], 'unused')
  const again = await claimDue(opened.store, session.facts.id, session.facts.agent)
  for (const call of calls) expect(hashInput(again.calls.get(call.id)?.input ?? null)).toBe(hashInput(call.input))
  await opened.close()
})
