import { describe, expect, test } from 'vitest'
import { askUser } from '../../server/agents/ask-user.js'
import { toPort } from './tool-run.js'

describe('askUser', () => {
  const tool = toPort(askUser({ expiresAfterMs: 1000, reviewers: ['bob'] }), 'ask_user')

  test('asks in words', () => {
    expect(tool.question?.({ question: 'Why?' })).toMatchObject({
      ...{ kind: 'QUESTION', prompt: 'Why?', options: [], minSelections: 0, maxSelections: 0, allowsText: true },
      ...{ reviewers: ['principal:bob'], expiresAfterMs: 1000 },
    })
  })

  test.each([
    [{}, { minSelections: 1, maxSelections: 1, allowsText: false }],
    [{ multiple: true }, { minSelections: 1, maxSelections: 2, allowsText: false }],
    [{ allow_text: true }, { minSelections: 1, maxSelections: 1, allowsText: true }],
  ])('asks with options, %j', (more, expected) => {
    const asked = tool.question?.({
      question: 'Which?',
      options: [{ label: 'Red' }, { label: 'Blue', description: 'Like the sea.' }],
      ...more,
    })
    expect(asked).toMatchObject({
      ...expected,
      options: [
        { id: 'option-1', label: 'Red', description: null },
        { id: 'option-2', label: 'Blue', description: 'Like the sea.' },
      ],
    })
  })

  test.each([{}, { question: '' }, { question: 'Q', options: ['Red'] }])('refuses %j, in words for the model', async (input) => {
    expect(await tool.check(input)).toMatch(/question|options/)
  })

  test('shows the question as the label of its call', () => {
    expect(tool.label({ question: 'Why?' })).toBe('Why?')
  })

  test.each([
    [{ expiresAfterMs: -1 }, 'expiresAfterMs must be a whole number'],
    [{ expiresAfter: 1 }, 'there is no option "expiresAfter"; did you mean "expiresAfterMs"?'],
  ])('refuses the options %j', (options, message) => {
    expect(() => askUser(options as Parameters<typeof askUser>[0]).compile('tool "ask"')).toThrow(message)
  })
})
