import { afterAll, expect, test } from 'vitest'
import { readText } from '../architecture/source-files.js'
import { findMissing, isThere, linksOf, referencesOf } from '../docs/references.js'
import { settled } from '../support/fake-clock.js'
import { countsOf, createFigures, describedIn } from './metrics-on-a-clock.js'

const PAGE = 'docs/operations.md'
const figures = createFigures({
  coordination: () => ({ kind: 'redis', fault: null }),
  countSessions: () => Promise.resolve(countsOf({ IDLE: 1 })),
})
afterAll(() => figures.stop())

test('docs/operations.md has every figure as it describes itself, and no other', async () => {
  await figures.render()
  await settled()
  const text = await figures.render()
  const described = describedIn(text).map(({ name, kind, help, labels }) => ({
    name,
    kind,
    // The kinds of garbage collection come as they happen.
    labels: name === 'nodejs_gc_duration_seconds' ? 'kind' : labels.join(', '),
    help,
  }))
  const part = /<!-- figures -->([\s\S]*)<!-- \/figures -->/.exec(readText(PAGE))?.[1] ?? ''
  const rows = [...part.matchAll(/^\| `(\w+)` +\| (\w+) +\| (.*?) +\| (.+?) +\|$/gm)]
  expect(rows.map(([, name, kind, labels, help]) => ({ name, kind, labels, help }))).toEqual(described)
})

test('docs/operations.md points at tests and files that exist', () => {
  expect(referencesOf(PAGE).flatMap((reference) => findMissing(reference) ?? [])).toEqual([])
  expect(linksOf(PAGE).filter((path) => !isThere(path))).toEqual([])
  expect(referencesOf(PAGE).length).toBeGreaterThan(10)
})
