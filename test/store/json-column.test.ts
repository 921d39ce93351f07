import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { asStored, toJson, toText, toTextOrNull } from '../../server/store/json-column.js'

describe('what PostgreSQL can keep', () => {
  it('is text without NUL and lone surrogates, of the same length', () => {
    expect(toText('a\0b\ud800c\udc00')).toBe('a\ufffdb\ufffdc\ufffd')
    expect(toText('😀 plain')).toBe('😀 plain')
    expect(toTextOrNull(undefined)).toBe(null)
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const kept = toText(text)
        expect(kept).toHaveLength(text.length)
        expect(kept).not.toMatch(/\0|\p{Surrogate}/u)
        expect(toText(kept)).toBe(kept)
      }),
    )
  })

  it('is JSON whose strings and keys are such text, and that is otherwise the same', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const wrapped = { value }
        expect(toJson(wrapped)).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/)
        expect(JSON.parse(toJson(asStored(wrapped)))).toEqual(JSON.parse(JSON.stringify(asStored(wrapped))))
      }),
    )
    expect(JSON.parse(toJson({ 'k\0': ['\udc00', '\\u0000', '\\\\u0000', 1, null] }))).toEqual({
      'k\ufffd': ['\ufffd', '\\u0000', '\\\\u0000', 1, null],
    })
  })

  it('is the very same object when nothing has to be replaced', () => {
    const value = { text: 'C:\\users\\u0000', deep: [{ emoji: '😀' }] }
    expect(asStored(value)).toBe(value)
    expect(asStored({ text: '\0' })).toEqual({ text: '\ufffd' })
  })
})
