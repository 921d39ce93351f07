/** The documentation names tests, files and tables of the code; here they are looked up. */
import { describe, expect, test } from 'vitest'
import { SESSION_STATUSES, STATUS_MOVES } from '../../server/session/status.js'
import { readFiles, readText } from '../architecture/source-files.js'
import { findMissing, isThere, linksOf, referencesOf } from './references.js'

const PROMISING = ['docs/guarantees.md', 'docs/architecture.md']
const decisions = readFiles(['docs/decisions'], ['.md']).map(({ path }) => path)
const pages = [...PROMISING, 'docs/errors.md', 'docs/operations.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...decisions]

describe.each(pages)('%s', (page) => {
  test('points at tests, files and declarations that exist', () => {
    const missing = referencesOf(page).flatMap((reference) => findMissing(reference) ?? [])
    expect(missing).toEqual([])
  })

  test('links to files that exist', () => {
    expect(linksOf(page).filter((path) => !isThere(path))).toEqual([])
  })
})

test.each(PROMISING)('%s names tests', (page) => {
  expect(referencesOf(page).filter(({ file, name }) => file.startsWith('test/') && name !== null).length).toBeGreaterThan(20)
})

test('what is not there is told', () => {
  expect(findMissing({ file: 'server/nowhere.ts', name: null })).toBe('no file server/nowhere.ts')
  expect(findMissing({ file: 'server/session/next.ts', name: 'nothing' })).toBe('server/session/next.ts has no "nothing"')
  expect(findMissing({ file: 'test/session/status.test.ts', name: 'a dream' })).toBe('test/session/status.test.ts has no "a dream"')
})

test('every section of promises says what holds it', () => {
  const sections = readText('docs/guarantees.md').split(/^## /m).slice(1)
  const bare = sections.filter((section) => !section.includes('Held by') && !section.split('\n')[0]?.includes('ot '))
  expect(bare.map((section) => section.split('\n')[0])).toEqual([])
})

test('the table of statuses has the moves of the code', () => {
  const rows = readText('docs/guarantees.md').matchAll(/^\| ([A-Z_]+) +\| (.*?) +\|$/gm)
  const told = Object.fromEntries([...rows].map(([, from = '', to = '']) => [from, to === 'the end' ? [] : to.split(', ').sort()]))
  expect(told).toEqual(Object.fromEntries(SESSION_STATUSES.map((from) => [from, [...STATUS_MOVES[from]].sort()])))
})

test('decisions are numbered without a gap and at most 40 lines long', () => {
  const numbers = decisions.map((path) => Number(path.split('/').at(-1)?.slice(0, 4)))
  expect(numbers).toEqual(decisions.map((_, index) => index + 1))
  expect(decisions.filter((path) => readText(path).trimEnd().split('\n').length > 40)).toEqual([])
})
