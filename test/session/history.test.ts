/** H1: every assistant item with calls is followed by exactly one result for each, in call order. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { storedId } from '../../server/ids.js'
import { findInvalid, repairHistory, type HistoryCall, type HistoryItem } from '../../server/session/history.js'

const callIds = ['a', 'b', 'c', 'd'].map((name) => storedId('call', `call_${name}`))
const call: fc.Arbitrary<HistoryCall> = fc.constantFrom(...callIds).map((id) => ({ id, name: `tool_${id}`, input: {} }))
const user: fc.Arbitrary<HistoryItem> = fc.string().map((text) => ({ role: 'user', text }))
const assistant: fc.Arbitrary<HistoryItem> = fc
  .record({ text: fc.constantFrom('', 'said'), calls: fc.uniqueArray(call, { maxLength: 4, selector: ({ id }) => id }) })
  .map(({ text, calls }) => ({ role: 'assistant', text, calls, interrupted: false }))
const result: fc.Arbitrary<HistoryItem> = fc
  .record({ id: fc.constantFrom(...callIds), text: fc.string(), isError: fc.boolean() })
  .map(({ id, text, isError }) => ({ role: 'tool', callId: id, name: `tool_${id}`, text, isError }))
const anyHistory = fc.array(fc.oneof(user, assistant, result), { maxLength: 24 })

function textsOf(history: readonly HistoryItem[], role: 'user' | 'assistant'): readonly string[] {
  return history.flatMap((item) => (item.role === role && item.text !== '' ? [item.text] : []))
}

describe('repair', () => {
  test('makes any sequence valid', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        expect(findInvalid(repairHistory(history))).toBeNull()
      }),
    )
  })

  test('gives a valid history back as it was, the same object', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const valid = repairHistory(history)
        expect(repairHistory(valid)).toBe(valid)
      }),
    )
  })

  test('loses no word of a user or an assistant, and keeps their order', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const repaired = repairHistory(history)
        expect(textsOf(repaired, 'user')).toEqual(textsOf(history, 'user'))
        expect(textsOf(repaired, 'assistant')).toEqual(textsOf(history, 'assistant'))
      }),
    )
  })

  test('invents a result only where there is none', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const known = new Set<HistoryItem>(history)
        const invented = repairHistory(history).filter((item) => !known.has(item))
        for (const item of invented) expect(item).toMatchObject({ role: 'tool', isError: true, text: 'The result of this call was lost.' })
      }),
    )
  })
})

describe('validity', () => {
  const [a, b] = callIds
  if (a === undefined || b === undefined) throw new Error('there are four')
  const both: HistoryItem = { role: 'assistant', text: '', calls: [a, b].map((id) => ({ id, name: 'x', input: {} })), interrupted: false }
  const resultA: HistoryItem = { role: 'tool', callId: a, name: 'x', text: '1', isError: false }
  const resultB: HistoryItem = { role: 'tool', callId: b, name: 'x', text: '2', isError: false }
  const hello: HistoryItem = { role: 'user', text: 'hello' }

  test.each<[string, readonly HistoryItem[], number | null]>([
    ['results in call order', [hello, both, resultA, resultB], null],
    ['results in another order', [hello, both, resultB, resultA], 2],
    ['a result missing at the end', [both, resultA], 2],
    ['a result missing in between', [both, resultA, hello], 2],
    ['a result twice', [both, resultA, resultB, resultB], 3],
    ['a result that nobody asked for', [hello, resultA], 1],
    ['an empty assistant item', [{ role: 'assistant', text: '', calls: [], interrupted: false }], 0],
    ['nothing', [], null],
  ])('%s', (_, history, invalidAt) => {
    expect(findInvalid(history)).toBe(invalidAt)
  })

  test('is looked for from where it was found before', () => {
    expect(findInvalid([resultA, hello, both, resultA, resultB], 1)).toBeNull()
  })
})
