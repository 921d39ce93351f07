/** What the code has to look like. Each rule says, when it is broken, why it is there and how to put it right. */
import { describe, expect, test } from 'vitest'
import { importRules } from './architecture/import-rules.js'
import { hold } from './architecture/rule.js'
import { shapeRules } from './architecture/shape-rules.js'
import { textRules } from './architecture/text-rules.js'

describe.each([
  { about: 'imports', rules: importRules },
  { about: 'shape', rules: shapeRules },
  { about: 'text', rules: textRules },
])('$about', ({ rules }) => {
  test.each(rules)('$rule', hold)
})

test('a broken rule names itself, the reason, the mend and the places', () => {
  const rule = { rule: 'No ravens.', why: 'They talk.', mend: 'Let it out.', check: () => ['a.ts', 'b.ts'] }
  expect(() => {
    hold(rule)
  }).toThrow('No ravens.\nWhy:  They talk.\nMend: Let it out.\n  - a.ts\n  - b.ts')
})
