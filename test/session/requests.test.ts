/** Who may answer what is asked, and which words are an answer. */
import { describe, expect, test } from 'vitest'
import type { Principal } from '../../server/session/principal.js'
import { NO_ANSWER, answerableBy, mayAnswer, readText } from '../../server/session/requests.js'
import { answeredBy } from '../../server/session/spoken-answer.js'
import { ALICE, BOB, asks, message } from '../support/given.js'

const ANONYMOUS: Principal = { tenant: 'default', id: 'anonymous', kind: 'ANONYMOUS' }

describe('whoever may answer', () => {
  test.each([
    { who: 'the person served', reviewers: [], by: ALICE, authority: [], may: true },
    { who: 'somebody else', reviewers: [], by: BOB, authority: ['role:manager', 'scope:admin'], may: false },
    { who: 'a program of the same name', reviewers: [], by: { ...ALICE, kind: 'SERVICE' as const }, authority: [], may: false },
    { who: 'a reviewer by name', reviewers: ['principal:bob'], by: BOB, authority: [], may: true },
    { who: 'the person served, whom the rule does not name', reviewers: ['principal:bob'], by: ALICE, authority: [], may: false },
    { who: 'a reviewer by role', reviewers: ['role:manager'], by: BOB, authority: ['role:manager'], may: true },
    { who: 'a reviewer by scope', reviewers: ['scope:requests:answer'], by: BOB, authority: ['scope:requests:answer'], may: true },
    { who: 'one whose name is a role', reviewers: ['role:manager'], by: { ...BOB, id: 'role:manager' }, authority: [], may: false },
    {
      who: 'one whose name is that of the person served',
      reviewers: [],
      by: { ...BOB, id: 'served:USER:alice' },
      authority: [],
      may: false,
    },
    { who: 'an anonymous caller named as a reviewer', reviewers: ['principal:anonymous'], by: ANONYMOUS, authority: [], may: false },
  ])('$who: $may', ({ reviewers, by, authority, may }) => {
    expect(mayAnswer(asks('work', { reviewers }), by, authority)).toBe(may)
  })

  test('is anybody who reaches the session when it serves nobody known', () => {
    const request = asks('work', { served: ANONYMOUS })
    expect(answerableBy(request)).toEqual(['anyone'])
    expect([ALICE, ANONYMOUS].map((by) => mayAnswer(request, by, []))).toEqual([true, true])
    expect(mayAnswer({ ...request, reviewers: ['role:manager'] }, ANONYMOUS, [])).toBe(false)
  })
})

const option = (id: string, label: string) => ({ id, label, description: null })
const colours = asks('work', {
  kind: 'QUESTION',
  options: [option('r', 'Red'), option('g', 'Green'), option('2', 'Two')],
  maxSelections: 1,
})

describe('a text', () => {
  test.each([
    ['r', ['r']],
    [' RED ', ['r']],
    ['Green', ['g']],
    ['1', ['r']],
    ['2', ['2']],
    ['3', ['2']],
  ])('%j names an option: its id, its label, or its number', (text, optionIds) => {
    expect(readText(colours, text)).toEqual({ ...NO_ANSWER, optionIds })
  })

  test.each(['', '0', '4', 'blue', 'red, green', '1.5', '-1'])('%j names none, and is no answer where words are none', (text) => {
    expect(readText(colours, text)).toBeNull()
    expect(readText({ ...colours, allowsText: true }, text)).toEqual({ ...NO_ANSWER, text })
  })

  test('names several where several may be chosen, each once', () => {
    const several = { ...colours, minSelections: 2, maxSelections: 2 }
    expect(readText(several, 'red, 2, Red')).toEqual({ ...NO_ANSWER, optionIds: ['r', '2'] })
    expect(readText(several, 'red')).toBeNull()
    expect(readText(several, 'red, green, two')).toBeNull()
    expect(readText(several, 'red, blue')).toBeNull()
  })

  test.each([
    ['approve', 'APPROVE'],
    ['Deny', 'DENY'],
    ['1', 'APPROVE'],
    ['2', 'DENY'],
  ] as const)('%j decides an approval: %s', (text, decision) => {
    expect(readText(asks('work'), text)).toEqual({ ...NO_ANSWER, decision })
  })

  test.each(['yes', 'ok', 'approve it', 'no'])('%j decides no approval', (text) => {
    expect(readText(asks('work'), text)).toBeNull()
  })
})

describe('a message', () => {
  const requests = [asks('refund', { reviewers: ['role:manager'], openedAfter: 2 }), asks('pay', { openedAfter: 2 })]

  test('answers the oldest request that its sender may answer', () => {
    expect(answeredBy(message(3, 'approve'), requests)?.request).toBe(requests[1])
    expect(answeredBy({ ...message(3, 'approve', BOB), authority: ['role:manager'] }, requests)?.request).toBe(requests[0])
    expect(answeredBy(message(3, 'approve', BOB), requests)).toBeNull()
  })

  test('that was sent before a request opened never answers it', () => {
    expect(answeredBy(message(2, 'approve'), requests)).toBeNull()
  })
})
