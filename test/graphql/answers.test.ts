import { describe, expect, it } from 'vitest'
import { resolveAnswer, type Answerable, type GivenValue } from '../../server/graphql/answers.js'
import { NO_ANSWER, type AnswerValue } from '../../server/session/requests.js'

const DECISIONS = [
  { id: 'approve', label: 'Approve', description: null },
  { id: 'deny', label: 'Deny', description: null },
]
const base = { options: [], minSelections: 1, maxSelections: 1, allowsText: false, url: null }
const APPROVAL: Answerable = { ...base, kind: 'APPROVAL', options: DECISIONS }
const SIGN_IN: Answerable = { ...base, kind: 'AUTHORIZATION', url: 'https://example.com/in' }
const LIMIT: Answerable = { ...base, kind: 'LIMIT', options: named('continue', 'stop') }
const WORDS: Answerable = { ...base, kind: 'QUESTION', minSelections: 0, maxSelections: 0, allowsText: true }
const CHOICE: Answerable = { ...base, kind: 'QUESTION', options: named('red', 'green', 'blue') }
const SEVERAL: Answerable = { ...CHOICE, minSelections: 2, maxSelections: 3 }
const FREE: Answerable = { ...CHOICE, allowsText: true }

function named(...ids: readonly string[]) {
  return ids.map((id) => ({ id, label: id.toUpperCase(), description: null }))
}

describe('what an answer says', () => {
  it.each<[string, Answerable, GivenValue, Partial<AnswerValue>]>([
    ['an approval', APPROVAL, { decision: 'APPROVE' }, { decision: 'APPROVE' }],
    ['a denial', APPROVAL, { decision: 'DENY' }, { decision: 'DENY' }],
    ['an approval, by its option', APPROVAL, { optionIds: ['approve'] }, { decision: 'APPROVE' }],
    ['a denial, by its option', APPROVAL, { optionIds: ['deny'] }, { decision: 'DENY' }],
    ['a sign-in that is declined', SIGN_IN, { decision: 'DENY' }, { decision: 'DENY' }],
    ['a sign-in that is declined, by its option', SIGN_IN, { optionIds: ['deny'] }, { decision: 'DENY' }],
    ['a limit: go on', LIMIT, { optionIds: ['continue'] }, { optionIds: ['continue'] }],
    ['a limit: stop', LIMIT, { optionIds: ['stop'] }, { optionIds: ['stop'] }],
    ['a limit: go on, as a decision', LIMIT, { decision: 'APPROVE' }, { optionIds: ['continue'] }],
    ['a limit: stop, as a decision', LIMIT, { decision: 'DENY' }, { optionIds: ['stop'] }],
    ['words', WORDS, { text: 'tomorrow' }, { text: 'tomorrow' }],
    ['no words', WORDS, { text: '' }, { text: '' }],
    ['zero', WORDS, { json: 0 }, { json: 0 }],
    ['false', WORDS, { json: false }, { json: false }],
    ['an empty object', WORDS, { json: {} }, { json: {} }],
    ['a choice', CHOICE, { optionIds: ['green'] }, { optionIds: ['green'] }],
    ['the same twice is once', CHOICE, { optionIds: ['green', 'green'] }, { optionIds: ['green'] }],
    ['several choices', SEVERAL, { optionIds: ['blue', 'red'] }, { optionIds: ['blue', 'red'] }],
    ['words instead of a choice', FREE, { text: 'RED' }, { text: 'RED' }],
    ['what is null was not given', CHOICE, { decision: null, optionIds: ['red'], text: null, json: null }, { optionIds: ['red'] }],
  ])('%s', (_, request, given, expected) => {
    expect(resolveAnswer(request, given)).toEqual({ ...NO_ANSWER, ...expected })
  })
})

describe('what is no answer, and where it is wrong', () => {
  it.each<[string, Answerable, GivenValue, string]>([
    ['nothing', WORDS, {}, ': exactly one'],
    ['null', WORDS, { json: null }, ': exactly one'],
    ['two at once', FREE, { optionIds: ['red'], text: '' }, ': exactly one'],
    ['an approval in words', APPROVAL, { text: 'approve' }, 'text: decision APPROVE or DENY'],
    ['an approval as JSON', APPROVAL, { json: true }, 'json: decision APPROVE or DENY'],
    ['an approval by no option of it', APPROVAL, { optionIds: ['yes'] }, 'optionIds.0: decision APPROVE or DENY'],
    ['an approval and a denial', APPROVAL, { optionIds: ['approve', 'deny'] }, 'optionIds: at most 1'],
    ['an approval that chooses nothing', APPROVAL, { optionIds: [] }, 'optionIds: at least 1'],
    ['a sign-in by saying so', SIGN_IN, { decision: 'APPROVE' }, 'decision: sign in at its URL, https://example.com/in'],
    ['a sign-in by its option', SIGN_IN, { optionIds: ['approve'] }, 'optionIds.0: sign in at its URL'],
    ['a sign-in in words', SIGN_IN, { text: 'done' }, 'text: sign in at its URL'],
    ['a limit in words', LIMIT, { text: 'continue' }, 'text: ["continue"] or ["stop"]'],
    ['a limit by no option of it', LIMIT, { optionIds: ['approve'] }, 'optionIds.0: ["continue"] or ["stop"]'],
    ['a decision on a question', CHOICE, { decision: 'APPROVE' }, 'decision: choose from optionIds "red", "green", "blue"'],
    ['a decision on a question in words', WORDS, { decision: 'DENY' }, 'decision: answer with text or json'],
    ['words where none are taken', CHOICE, { text: 'red' }, 'text: choose from'],
    ['no words where none are taken', CHOICE, { text: '' }, 'text: choose from'],
    ['JSON where no words are taken', CHOICE, { json: false }, 'json: choose from'],
    ['an unknown option', FREE, { optionIds: ['red', 'pink'] }, 'optionIds.1: or answer with text or json'],
    ['an option where there are none', WORDS, { optionIds: ['red'] }, 'optionIds.0: answer with text or json'],
    ['no choice', CHOICE, { optionIds: [] }, 'optionIds: at least 1'],
    ['too few', SEVERAL, { optionIds: ['red', 'red'] }, 'optionIds: at least 2'],
    ['too many', CHOICE, { optionIds: ['red', 'blue'] }, 'optionIds: at most 1'],
    ['no choice where there is nothing to choose', WORDS, { optionIds: [] }, 'optionIds: answer with text or json'],
  ])('%s', (_, request, given, expected) => {
    const issue = resolveAnswer(request, given)
    if (!('path' in issue)) throw new Error('it is taken for one')
    const [path = '', message = ''] = expected.split(': ')
    expect(issue.path.join('.')).toBe(path)
    expect(issue.message).toContain(message)
  })
})
