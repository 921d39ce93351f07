import { describe, expect, test } from 'vitest'
import { readText } from '../architecture/source-files.js'
import { codesInSources } from './error-codes.js'

const ROW = /^\| `([A-Z][A-Z_]+)` +\| (.+?) +\| (.+?) +\|$/gm
const rows = [...readText('docs/errors.md').matchAll(ROW)].map(([, code = '', happened = '', mend = '']) => ({ code, happened, mend }))

describe('docs/errors.md', () => {
  test('has every code of the sources, and no other', () => {
    expect([...new Set(rows.map(({ code }) => code))].sort()).toEqual([...codesInSources().keys()])
  })

  test('says of each what happened and the mend', () => {
    expect(rows.filter(({ happened, mend }) => happened.length < 10 || mend.length < 5)).toEqual([])
  })

  test('is not read from nothing: codes of each kind are found', () => {
    const codes = codesInSources()
    for (const code of ['PORT_IN_USE', 'NOT_FOUND', 'TOOL_FAILED', 'STORE_UNAVAILABLE', 'UNAUTHENTICATED', 'NETWORK', 'TURN_TIMEOUT']) {
      expect(codes.get(code) ?? []).not.toEqual([])
    }
  })
})
