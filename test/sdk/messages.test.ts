import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../sdk/generated/session-events.js'
import type { AssistantMessage } from '../../sdk/message.js'
import { initialMessages, MESSAGE_EVENT_TYPES, reduceMessages, toMessages, type MessagesState } from '../../sdk/messages.js'
import { USER } from './fake-log.js'
import { logs, STREAMED } from './given-events.js'

const cuts = fc.tuple(fc.nat(), fc.nat(), fc.nat())

/** Three places of the log, in order. */
function placesIn(log: readonly SessionEvent[], numbers: readonly number[]): readonly [number, number, number] {
  const [a = 0, b = 0, c = 0] = numbers.map((number) => number % (log.length + 1)).sort((one, other) => one - other)
  return [a, b, c]
}

function fold(state: MessagesState, events: readonly SessionEvent[]): MessagesState {
  return events.reduce(reduceMessages, state)
}

function event(type: SessionEvent['type'], fields: object): SessionEvent {
  const scope = { turnId: 't', stepIndex: 0, attempt: 1, cursor: '1', at: '', sessionId: 's', id: 'e' }
  return { type, ...scope, ...fields } as unknown as SessionEvent
}

function onlyAssistant(state: MessagesState): AssistantMessage {
  const found = state.messages.find((message) => message.role === 'assistant')
  if (found?.role !== 'assistant') throw new Error('no assistant message')
  return found
}

describe('the conversation as a fold', () => {
  it('is idempotent: an event folded twice, at once or later, changes nothing (M1)', () => {
    fc.assert(
      fc.property(logs, cuts, (log, numbers) => {
        const [from, , to] = placesIn(log, numbers)
        const once = toMessages(log.slice(0, to))
        const last = log[to - 1]
        if (last !== undefined) expect(reduceMessages(once, last)).toEqual(once)
        expect(fold(once, log.slice(from, to))).toEqual(once)
      }),
    )
  })

  it('a snapshot at a cursor, itself read later, and the events after the cursor give what the whole log gives (M1, M2)', () => {
    fc.assert(
      fc.property(logs, cuts, fc.boolean(), (log, numbers, removed) => {
        const [cursor, readAt] = placesIn(log, numbers)
        // Streamed events of the past may have been removed.
        const snapshot = log.slice(0, readAt).filter((one) => !removed || !STREAMED.includes(one.type))
        expect(fold(toMessages(snapshot), log.slice(cursor))).toEqual(toMessages(log))
      }),
    )
  })

  it('a piece that comes again, joined with the next one, adds only what is new (M3)', () => {
    const piece = (offset: number, text: string) => event('LLM_CHUNK', { blockId: 'b', offset, text })
    const state = toMessages([
      event('STEP_STARTED', { model: 'm' }),
      piece(0, 'one '),
      piece(0, 'one two '),
      piece(4, 'two '),
      piece(8, 'three'),
    ])
    expect(onlyAssistant(state).parts).toMatchObject([{ text: 'one two three' }])
  })

  it('whoever missed every streamed piece ends with the same state (M2)', () => {
    fc.assert(
      fc.property(logs, (log) => {
        expect(toMessages(log.filter((one) => !STREAMED.includes(one.type)))).toEqual(toMessages(log))
      }),
    )
  })

  it('leaves nothing streaming when everything is closed, and shows nothing that was taken back (M4)', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const completed = new Set(log.flatMap((one) => ('blockId' in one && 'interrupted' in one ? [one.blockId] : [])))
        for (const message of toMessages(log).messages) {
          if (message.role === 'user') continue
          for (const part of message.parts) {
            if (part.type === 'tool') expect(part.status).not.toMatch(/streaming|waiting/)
            else expect(completed).toContain(part.id)
          }
        }
      }),
    )
  })

  it('keeps the same object when an event says nothing new', () => {
    const state = toMessages([event('STEP_STARTED', { model: 'm' })])
    expect(reduceMessages(state, event('STEP_STARTED', { model: 'm' }))).toBe(state)
    expect(reduceMessages(state, event('SESSION_WAITING', { turnId: null, stepIndex: null, attempt: null }))).toBe(state)
  })

  it('ignores types of a newer server', () => {
    const unknown = { ...event('STEP_STARTED', {}), type: 'SOMETHING_NEW' } as unknown as SessionEvent
    expect(reduceMessages(initialMessages(), unknown)).toBe(initialMessages())
  })

  it('streams text as it comes and ignores a piece that does not fit, until the completed event (M3)', () => {
    const start = [event('STEP_STARTED', {}), event('LLM_CHUNK', { blockId: 'b', offset: 0, text: 'one ' })]
    const gap = toMessages([...start, event('LLM_CHUNK', { blockId: 'b', offset: 8, text: 'three' })])
    expect(onlyAssistant(gap).parts).toMatchObject([{ text: 'one ', state: 'streaming' }])
    const next = fold(gap, [event('LLM_CHUNK', { blockId: 'b', offset: 4, text: 'two ' })])
    expect(onlyAssistant(next).parts).toMatchObject([{ text: 'one two ', state: 'streaming' }])
    const whole = fold(next, [event('MESSAGE_COMPLETED', { blockId: 'b', text: 'one two three', interrupted: false })])
    expect(onlyAssistant(whole).parts).toMatchObject([{ text: 'one two three', state: 'done' }])
  })

  it('takes half-written text back when its attempt is over, and begins anew with the next (M4)', () => {
    const lost = toMessages([
      event('STEP_STARTED', {}),
      event('LLM_CHUNK', { blockId: 'b1', offset: 0, text: 'half' }),
      event('STEP_INTERRUPTED', { reason: 'WORKER_LOST' }),
    ])
    expect(onlyAssistant(lost)).toMatchObject({ status: 'interrupted', parts: [] })
    const again = fold(lost, [
      event('STEP_STARTED', { attempt: 2 }),
      event('LLM_CHUNK', { blockId: 'b1', offset: 0, text: 'a late piece' }),
      event('LLM_CHUNK', { blockId: 'b2', offset: 0, text: 'whole', attempt: 2 }),
    ])
    expect(onlyAssistant(again)).toMatchObject({ status: 'running', attempt: 2, parts: [{ id: 'b2', text: 'whole' }] })
  })

  it('shows a call from its first argument to its result', () => {
    const call = { callId: 'c', name: 'search' }
    const log = [
      event('STEP_STARTED', {}),
      event('LLM_TOOL_INPUT', { ...call, offset: 0, text: '{"q":' }),
      event('TOOL_CALL_REQUESTED', { ...call, label: 'Searching', input: { q: 'x' }, inputError: null }),
      event('TOOL_CALL_START', call),
      event('TOOL_CALL_PROGRESS', { callId: 'c', output: '1 of 2' }),
      event('TOOL_CALL_END', { ...call, status: 'ABANDONED', output: null, error: null, durationMs: null }),
    ]
    const seen = log.map((_, at) => onlyAssistant(toMessages(log.slice(0, at + 1))).parts[0])
    expect(seen.map((part) => part?.type === 'tool' && part.status)).toEqual([
      false,
      'streaming',
      'requested',
      'running',
      'running',
      'abandoned',
    ])
    expect(seen[1]).toMatchObject({ inputText: '{"q":' })
    expect(seen[2]).toMatchObject({ input: { q: 'x' }, label: 'Searching' })
    expect(seen[4]).toMatchObject({ progress: '1 of 2' })
  })

  it('shows at a call what people are asked about it, open and answered', () => {
    const call = { callId: 'c', name: 'refund' }
    const inTurn = { turnId: 't', stepIndex: null, attempt: null }
    const ask = { ...inTurn, callId: 'c', prompt: 'Refund 240?', reviewers: ['role:manager'], expiresAt: null }
    const log = [
      event('STEP_STARTED', {}),
      event('TOOL_CALL_REQUESTED', { ...call, label: null, input: { amount: 240 }, inputError: null }),
      event('APPROVAL_REQUESTED', { ...ask, request: 'r1', name: 'refund', input: { amount: 240 } }),
      event('APPROVAL_RESOLVED', { ...inTurn, request: 'r1', outcome: 'ANSWERED', decision: 'APPROVE', by: USER, reason: 'fine' }),
      event('AUTHORIZATION_REQUIRED', { ...ask, request: 'r2', url: 'https://bank.example' }),
      event('AUTHORIZATION_COMPLETED', { ...inTurn, request: 'r2', outcome: 'TIMED_OUT', by: null, reason: null }),
      event('INPUT_REQUESTED', {
        ...ask,
        request: 'r3',
        kind: 'QUESTION',
        options: [],
        minSelections: 0,
        maxSelections: 0,
        allowsText: true,
      }),
      event('INPUT_RESOLVED', {
        ...inTurn,
        request: 'r3',
        outcome: 'CANCELLED',
        optionIds: [],
        text: null,
        json: null,
        by: null,
        reason: 'superseded',
      }),
      event('TOOL_CALL_START', call),
    ]
    const parts = log.map((_, at) => onlyAssistant(toMessages(log.slice(0, at + 1))).parts[0])
    const seen = parts.slice(1).map((part) => part?.type === 'tool' && [part.status, part.request?.id, part.request?.status])
    expect(seen).toEqual([
      ['requested', undefined, undefined],
      ['waiting-for-approval', 'r1', 'open'],
      ['requested', 'r1', 'answered'],
      ['waiting-for-authorization', 'r2', 'open'],
      ['requested', 'r2', 'expired'],
      ['waiting-for-input', 'r3', 'open'],
      ['requested', 'r3', 'cancelled'],
      ['running', 'r3', 'cancelled'],
    ])
    expect(parts[2]).toMatchObject({ request: { kind: 'APPROVAL', prompt: 'Refund 240?', reviewers: ['role:manager'], decision: null } })
    expect(parts[3]).toMatchObject({ request: { decision: 'APPROVE', by: { id: 'ann' }, reason: 'fine' } })
    expect(parts[4]).toMatchObject({ request: { url: 'https://bank.example' } })
    const running = toMessages(log)
    for (const one of log) expect(reduceMessages(running, one)).toBe(running)
  })

  it('shows at the turn what it asks itself, and leaves alone what is asked about an unknown call', () => {
    const inTurn = { turnId: 't', stepIndex: null, attempt: null }
    const ask = {
      ...inTurn,
      request: 'r',
      kind: 'LIMIT',
      prompt: 'Go on?',
      options: [],
      minSelections: 1,
      maxSelections: 1,
      allowsText: false,
    }
    const asked = toMessages([event('TURN_STARTED', { ...inTurn, number: 1 }), event('INPUT_REQUESTED', { ...ask, callId: null })])
    expect(asked.turns).toMatchObject([{ request: { id: 'r', kind: 'LIMIT', status: 'open' } }])
    const answer = { ...inTurn, request: 'r', outcome: 'ANSWERED', optionIds: ['continue'], text: null, json: null, by: USER, reason: null }
    const answered = reduceMessages(asked, event('INPUT_RESOLVED', answer))
    expect(answered.turns).toMatchObject([{ request: { status: 'answered', optionIds: ['continue'] } }])
    expect(reduceMessages(answered, event('INPUT_REQUESTED', { ...ask, request: 'r2', callId: 'unknown' }))).toBe(answered)
  })

  it('starts over when it was cleared (M5)', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const last = log.findLastIndex(({ type }) => type === 'CONTEXT_CLEARED')
        expect(toMessages(log)).toEqual(toMessages(log.slice(last + 1)))
      }),
    )
  })

  it('looks at no type that it does not ask for', () => {
    fc.assert(
      fc.property(logs, (log) => {
        const asked = log.filter((one) => MESSAGE_EVENT_TYPES.some((type) => type === one.type))
        expect(toMessages(asked)).toEqual(toMessages(log))
      }),
    )
  })
})
