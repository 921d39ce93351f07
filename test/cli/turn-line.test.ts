import { expect, test } from 'vitest'
import { printRequest, printTurn } from '../../server/cli/turn-line.js'
import type { TurnSummary } from '../../server/compose.js'

const turn: TurnSummary = {
  at: new Date(2026, 0, 2, 12, 3, 4).getTime(),
  sessionId: 'ses_01kexampleexampleexa8m2kq',
  agent: 'hello',
  number: 3,
  outcome: 'completed',
  steps: 2,
  toolCalls: 1,
  tokens: 412,
  durationMs: 849,
  failure: null,
}

function lineOf(changes: Partial<TurnSummary>, color = false): string {
  let text = ''
  printTurn({ out: (part) => (text += part), err: () => undefined, color }, { ...turn, ...changes })
  return text
}

test('a turn is one line', () => {
  expect(lineOf({})).toBe('12:03:04 ses_…8m2kq hello turn 3 ✓ 2 steps 1 tool 412 tok 0.8 s\n')
  expect(lineOf({ steps: 1, toolCalls: 0 })).toBe('12:03:04 ses_…8m2kq hello turn 3 ✓ 1 step 412 tok 0.8 s\n')
  expect(lineOf({ outcome: 'cancelled', toolCalls: 2 })).toContain(' ■ 2 steps 2 tools ')
})

test('a failed one has a second line that says why', () => {
  const failure = { code: 'MODEL_UNREACHABLE', message: 'connect ECONNREFUSED 127.0.0.1:9' }
  expect(lineOf({ outcome: 'failed', failure }).split('\n')).toEqual([
    '12:03:04 ses_…8m2kq hello turn 3 ✗ 2 steps 1 tool 412 tok 0.8 s',
    '         MODEL_UNREACHABLE connect ECONNREFUSED 127.0.0.1:9',
    '',
  ])
})

test('colours only where they are wanted', () => {
  expect(lineOf({})).not.toContain('\u001b')
  expect(lineOf({}, true)).toContain('\u001b[32m✓\u001b[39m')
})

test('what a turn asks is one line, with who may answer', () => {
  let text = ''
  const request = {
    at: turn.at,
    id: 'req_1',
    sessionId: turn.sessionId,
    agent: 'support',
    kind: 'APPROVAL',
    prompt: 'Refund order 1042?\nAll of it.',
    reviewers: [],
  } as const
  const terminal = { out: (part: string) => (text += part), err: () => undefined, color: false }
  printRequest(terminal, request)
  printRequest(terminal, { ...request, reviewers: ['role:manager', 'principal:bob'] })
  expect(text.split('\n')).toEqual([
    '12:03:04 ses_…8m2kq support ? approval: Refund order 1042?',
    '12:03:04 ses_…8m2kq support ? approval: Refund order 1042? (role:manager, principal:bob)',
    '',
  ])
})
