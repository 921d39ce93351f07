/** A session over its budget: the crossing call finishes, then somebody is asked. */
import { describe, expect, test } from 'vitest'
import { addDeliveries, applyCommit } from '../../../server/session/session.js'
import { settleOutcomes } from '../../../server/session/settle/settle.js'
import { NO_USAGE, type TokenUsage } from '../../../server/session/usage.js'
import { BOB, NOW, answered, answers, asked, givenSession, limits, message, modelling, settlingAt } from '../../support/given.js'
import { effectKinds, eventTypes, walk, withParking } from '../walk.js'

const LIMITED = limits({ maxOutputTokensPerSession: 100 })
const used = (completionTokens: number, change: Partial<TokenUsage> = {}): TokenUsage => ({ ...NO_USAGE, completionTokens, ...change })

/** Held: the model asked for a call that it has no tool for, and crossed the budget with it. */
function crossed() {
  const session = givenSession({ phase: modelling(), usage: used(60) })
  const refusal = { code: 'TOOL_UNKNOWN', message: 'There is none.', retryable: false }
  const outcome = answered('', [asked('work', { refusal })], { usage: used(40) })
  const commit = settleOutcomes(session, [outcome], settlingAt(NOW, { limits: LIMITED }))
  if (commit === null) throw new Error('the model has answered')
  const parked = withParking(session, commit, { limits: LIMITED })
  const after = applyCommit(session, parked)
  const [request] = after.requests
  if (request === undefined) throw new Error('somebody is asked')
  return { parked, after, request }
}
const reply = (position: number, request: ReturnType<typeof crossed>['request'], optionIds: readonly string[]) => ({
  ...answers(position),
  answers: [{ requestId: request.id, decision: null, optionIds, text: null, json: null, reason: null }],
})

describe('the call that crosses it', () => {
  test('is finished, and the turn waits for its person before the next', () => {
    const { parked, after, request } = crossed()
    expect(eventTypes([parked]).slice(-2)).toEqual(['INPUT_REQUESTED', 'TURN_WAITING'])
    expect(parked).toMatchObject({ guard: 'inbox', session: { status: 'WAITING_FOR_INPUT' }, openedStep: null })
    expect(request).toMatchObject({ kind: 'LIMIT', callId: null, prompt: expect.stringContaining('100 of its 100 output tokens') })
    expect(after.checkpoint.phase.kind).toBe('held')
  })

  test('fails the turn of a schedule, which nobody can be asked about', () => {
    const nightly = { principal: { tenant: 'default', id: 'nightly', kind: 'SYSTEM' } } as const
    const session = givenSession({ phase: modelling({}, nightly), usage: used(100) })
    const outcome = answered('', [asked('work', { refusal: { code: 'TOOL_UNKNOWN', message: 'None.', retryable: false } })])
    const commit = settleOutcomes(session, [outcome], settlingAt(NOW, { limits: LIMITED }))
    expect(commit).toMatchObject({ closedTurn: { status: 'FAILED', error: { code: 'SESSION_LIMIT_REACHED' } }, newRequests: [] })
  })
})

describe('whoever is asked', () => {
  test('lets the same turn go on with as much again', () => {
    const { after, request } = crossed()
    const { commits, owed, session } = walk(addDeliveries(after, [reply(1, request, ['continue'])]), { limits: LIMITED })
    expect(eventTypes(commits)).toEqual(['DELIVERY_SETTLED', 'INPUT_RESOLVED', 'TURN_RESUMED', 'STEP_STARTED'])
    expect(effectKinds(owed)).toEqual(['call-model'])
    expect(session.checkpoint).toMatchObject({ allowedFrom: { completionTokens: 100 }, phase: { turn: { number: 1 } } })
  })

  test('stops it; the session stays open and over its budget, and the next message asks anew', () => {
    const { after, request } = crossed()
    const stopped = walk(addDeliveries(after, [reply(1, request, ['stop'])]), { limits: LIMITED })
    expect(eventTypes(stopped.commits)).toContain('TURN_CANCELLED')
    expect(stopped.session.status).toBe('IDLE')
    const again = walk(addDeliveries(stopped.session, [message(2)]), { limits: LIMITED })
    expect(again.session).toMatchObject({ status: 'WAITING_FOR_INPUT', requests: [{ kind: 'LIMIT' }] })
    expect(again.session.requests[0]?.id).not.toBe(request.id)
    expect(again.commits[0]).toMatchObject({ openedTurn: { number: 2 }, turnStatus: { status: 'WAITING' } })
  })

  test.each(['continue', '1', 'Continue'])('may say so in words: %j', (text) => {
    const { after } = crossed()
    expect(effectKinds(walk(addDeliveries(after, [message(1, text)]), { limits: LIMITED }).owed)).toEqual(['call-model'])
  })

  test('may say something else, which waits, and joins the turn when it goes on', () => {
    const { after, request } = crossed()
    const waiting = walk(addDeliveries(after, [message(1, 'how much?'), message(2, 'continue', BOB)]), { limits: LIMITED })
    expect(waiting.commits).toMatchObject([{ park: { wakeAt: null } }])
    const { commits, session } = walk(addDeliveries(waiting.session, [reply(3, request, ['continue'])]), { limits: LIMITED })
    expect(commits[0]?.history).toMatchObject([{ role: 'user', text: 'how much?' }])
    expect(session.deliveries).toMatchObject([{ by: { id: 'bob' } }])
  })
})

test('each budget is counted for itself, and a count that no provider gave is nothing', () => {
  const dollars = limits({ maxCostUsdPerSession: 0.5 })
  const within = walk(givenSession({ phase: { kind: 'idle' }, usage: used(1000), deliveries: [message(1)] }), { limits: dollars })
  expect(effectKinds(within.owed)).toEqual(['call-model'])
  const over = walk(givenSession({ phase: { kind: 'idle' }, usage: used(0, { costUsd: 0.5 }), deliveries: [message(1)] }), {
    limits: dollars,
  })
  expect(over.session.requests).toMatchObject([{ prompt: expect.stringContaining('0.5 of its 0.5 US dollars') }])
})
