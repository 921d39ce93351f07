/** Identifiers: well formed, in the order in which they were made, and never twice. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createIdSource, isId } from '../server/ids.js'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

/** The UUID that a suffix stands for, in hex. */
function toUuid(id: string): string {
  const [, suffix = ''] = id.split('_')
  const value = [...suffix].reduce((sum, letter) => sum * 32n + BigInt(ALPHABET.indexOf(letter)), 0n)
  return value.toString(16).padStart(32, '0')
}

describe('an identifier', () => {
  test('is a UUIDv7 of the moment when it was made, in base 32', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 2 }), (now) => {
        const id = createIdSource(() => now).next('turn')
        expect(isId('turn', id)).toBe(true)
        const uuid = toUuid(id)
        expect(uuid).toHaveLength(32)
        expect(Number.parseInt(uuid.slice(0, 12), 16)).toBe(now)
        expect(uuid[12]).toBe('7')
        expect('89ab').toContain(uuid[16])
      }),
    )
  })

  test('comes after every earlier one of its source, though the clock stands still or goes back', () => {
    const moments = fc.array(fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_003 }), { minLength: 2, maxLength: 300 })
    fc.assert(
      fc.property(moments, (times) => {
        let at = 0
        const ids = createIdSource(() => times[at % times.length] ?? 0)
        const made = times.map(() => {
          at += 1
          return ids.next('call')
        })
        expect([...made].sort()).toEqual(made)
        expect(new Set(made).size).toBe(made.length)
      }),
    )
  })

  test('is not made twice, also by sources of the same moment, past the random bytes that are drawn together', () => {
    const sources = [createIdSource(() => 1), createIdSource(() => 1)]
    const made = sources.flatMap((source) => Array.from({ length: 5000 }, () => source.next('ses')))
    expect(new Set(made).size).toBe(made.length)
    const tails = made.map((id) => toUuid(id).slice(16))
    expect(new Set(tails).size).toBe(made.length)
  })
})
