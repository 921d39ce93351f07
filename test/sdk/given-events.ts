/** Random logs of a session that a server could have written: everything opened is closed once. */
import fc from 'fast-check'
import type { SessionEvent } from '../../sdk/generated/session-events.js'
import { USER } from './fake-log.js'

const USAGE = {
  promptTokens: 1,
  completionTokens: 1,
  cacheTokens: null,
  reasoningTokens: null,
  costUsd: null,
  totalTokens: 2,
  incomplete: false,
}
const FAILURE = { code: 'MODEL_UNAVAILABLE', message: 'try again', retryable: true, details: null }
export const STREAMED: readonly string[] = ['LLM_CHUNK', 'LLM_REASONING', 'LLM_TOOL_INPUT', 'TOOL_CALL_PROGRESS']

type Fields<Event> = Event extends SessionEvent ? Omit<Event, 'id' | 'cursor' | 'at' | 'sessionId' | '__typename'> : never
type Draft = Fields<SessionEvent>
interface Scope {
  readonly turnId: string
  readonly stepIndex: number
  readonly attempt: number
}

interface BlockPlan {
  readonly kind: 'text' | 'reasoning' | 'call'
  readonly pieces: readonly string[]
  /** Position of each piece among those of the other blocks. */
  readonly order: number
}
interface AttemptPlan {
  readonly blocks: readonly BlockPlan[]
  readonly end: 'outcome' | 'retrying' | 'interrupted' | 'cut'
}
/** A request and what became of it. */
type Ask = 'approve' | 'deny' | 'withdraw' | 'answer' | 'sign-in'
interface StepPlan {
  readonly attempts: readonly AttemptPlan[]
  readonly last: AttemptPlan
  readonly callEnd: 'COMPLETED' | 'FAILED' | 'ABANDONED'
  /** What people are asked about each call before it runs, or instead. */
  readonly asked: readonly Ask[]
  readonly steered: boolean
}

const block: fc.Arbitrary<BlockPlan> = fc.record({
  kind: fc.constantFrom('text', 'reasoning', 'call'),
  pieces: fc.array(fc.string({ minLength: 1, maxLength: 4, unit: 'grapheme' }), { minLength: 1, maxLength: 4 }),
  order: fc.nat(100),
})
const blocks = fc.array(block, { maxLength: 3 })
const step: fc.Arbitrary<StepPlan> = fc.record({
  attempts: fc.array(fc.record({ blocks, end: fc.constantFrom('retrying', 'interrupted', 'cut') }), { maxLength: 2 }),
  last: fc.record({ blocks, end: fc.constant('outcome') }),
  callEnd: fc.constantFrom('COMPLETED', 'FAILED', 'ABANDONED'),
  asked: fc.array(fc.constantFrom('approve', 'deny', 'withdraw', 'answer', 'sign-in'), { maxLength: 2 }),
  steered: fc.boolean(),
})
const turn = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  waits: fc.boolean(),
  overLimit: fc.boolean(),
  end: fc.constantFrom('TURN_COMPLETED', 'TURN_FAILED', 'TURN_CANCELLED'),
  cleared: fc.boolean(),
})

/** A log of up to three turns, some of which are cleared after them; `SESSION_COMPLETED` at the end of some. */
export const logs: fc.Arbitrary<readonly SessionEvent[]> = fc
  .record({ turns: fc.array(turn, { maxLength: 3 }), ends: fc.boolean() })
  .map(({ turns, ends }) => {
    const log: Draft[] = []
    turns.forEach(({ cleared, ...plan }, index) => {
      writeTurn(log, `turn_${index}`, { number: index + 1, ...plan })
      if (cleared) log.push({ type: 'CONTEXT_CLEARED', ...NOWHERE })
    })
    if (ends) log.push({ type: 'SESSION_COMPLETED', ...NOWHERE, reason: 'ENDED', error: null, usage: USAGE })
    return log.map(toEvent)
  })

const NOWHERE = { turnId: null, stepIndex: null, attempt: null }

function toEvent(draft: Draft, index: number): SessionEvent {
  const cursor = String(index + 1)
  return {
    ...draft,
    id: `evt_${cursor}`,
    cursor,
    at: '2026-01-01T00:00:00.000Z',
    sessionId: 'ses_1',
    __typename: '',
  } as unknown as SessionEvent
}

interface TurnPlan {
  readonly number: number
  readonly steps: readonly StepPlan[]
  readonly waits: boolean
  readonly overLimit: boolean
  readonly end: 'TURN_COMPLETED' | 'TURN_FAILED' | 'TURN_CANCELLED'
}

function writeTurn(log: Draft[], turnId: string, { number, steps, waits, overLimit, end }: TurnPlan): void {
  const inTurn = { turnId, stepIndex: null, attempt: null }
  log.push({ type: 'TURN_STARTED', ...inTurn, number, deliveries: [`dlv_${turnId}`], trigger: 'MESSAGE', principal: USER })
  writeMessage(log, turnId, `dlv_${turnId}`)
  steps.forEach((plan, stepIndex) => {
    writeStep(log, { turnId, stepIndex, attempt: 1 }, plan)
    if (plan.steered) writeMessage(log, turnId, `dlv_${turnId}_${stepIndex}`)
  })
  if (waits) {
    log.push({ type: 'TURN_WAITING', ...inTurn, on: 'TIMER' }, { type: 'TURN_RESUMED', ...inTurn, cause: 'timer' })
  }
  if (overLimit) writeLimit(log, inTurn)
  log.push({ type: end, ...inTurn, output: null, error: end === 'TURN_FAILED' ? FAILURE : null, reason: null, usage: USAGE, latencyMs: 1 })
}

function writeMessage(log: Draft[], turnId: string, delivery: string): void {
  const inTurn = { turnId, stepIndex: null, attempt: null }
  log.push({ type: 'MESSAGE_RECEIVED', ...inTurn, delivery, text: `text of ${delivery}`, by: USER })
  log.push({ type: 'DELIVERY_SETTLED', ...inTurn, delivery, status: 'APPLIED', turn: turnId, reason: null })
}

function writeStep(log: Draft[], from: Scope, plan: StepPlan): void {
  ;[...plan.attempts, plan.last].forEach((attempt, index) => {
    const scope = { ...from, attempt: index + 1 }
    const ids = attempt.blocks.map((_, at) => `${scope.turnId}.${scope.stepIndex}.${scope.attempt}.${at}`)
    log.push({ type: 'STEP_STARTED', ...scope, model: 'm' })
    writePieces(log, scope, { blocks: attempt.blocks, ids })
    if (attempt.end === 'outcome') writeOutcome(log, scope, { attempt, ids, plan })
    else writeFailure(log, scope, { attempt, ids })
  })
}

/** The pieces of all blocks, interleaved as their `order` says, each block's own in order. */
function writePieces(
  log: Draft[],
  scope: Scope,
  { blocks: all, ids }: { readonly blocks: readonly BlockPlan[]; readonly ids: readonly string[] },
): void {
  const pieces = all.flatMap((plan, at) =>
    plan.pieces.map((text, index) => ({ plan, id: ids[at] ?? '', text, offset: plan.pieces.slice(0, index).join('').length, index })),
  )
  for (const { plan, id, text, offset } of pieces.sort((a, b) => a.index - b.index || a.plan.order - b.plan.order)) {
    if (plan.kind === 'call') log.push({ type: 'LLM_TOOL_INPUT', ...scope, callId: id, name: 'tool', offset, text })
    else log.push({ type: plan.kind === 'text' ? 'LLM_CHUNK' : 'LLM_REASONING', ...scope, blockId: id, offset, text })
  }
}

interface Ended {
  readonly attempt: AttemptPlan
  readonly ids: readonly string[]
}

/** `cut`: what was said is completed as interrupted and kept; otherwise it is taken back. */
function writeFailure(log: Draft[], scope: Scope, { attempt, ids }: Ended): void {
  if (attempt.end === 'retrying') {
    log.push({ type: 'STEP_RETRYING', ...scope, error: FAILURE, delayMs: 1 })
    return
  }
  if (attempt.end === 'cut') attempt.blocks.forEach((plan, at) => writeWhole(log, scope, { plan, id: ids[at] ?? '', interrupted: true }))
  log.push({ type: 'STEP_INTERRUPTED', ...scope, reason: attempt.end === 'cut' ? 'CANCELLED' : 'WORKER_LOST' })
}

function writeOutcome(log: Draft[], scope: Scope, { attempt, ids, plan }: Ended & { readonly plan: StepPlan }): void {
  const calls = ids.filter((_, at) => attempt.blocks[at]?.kind === 'call')
  // The whole comes in another order than the pieces began.
  attempt.blocks
    .map((plan, at) => ({ plan, id: ids[at] ?? '' }))
    .reverse()
    .forEach(({ plan, id }) => writeWhole(log, scope, { plan, id, interrupted: false }))
  for (const callId of calls)
    log.push({ type: 'TOOL_CALL_REQUESTED', ...scope, callId, name: 'tool', label: null, input: { a: 1 }, inputError: null })
  const { asked, callEnd } = plan
  for (const callId of calls) {
    if (asked.some((ask, index) => writeRequest(log, scope, { callId, ask, id: `req_${callId}_${index}` }) === 'ended')) continue
    log.push({ type: 'TOOL_CALL_START', ...scope, callId, name: 'tool' }, { type: 'TOOL_CALL_PROGRESS', ...scope, callId, output: 'half' })
    log.push({ type: 'TOOL_CALL_END', ...scope, callId, name: 'tool', status: callEnd, output: 'out', error: null, durationMs: 2 })
  }
  log.push({ type: 'STEP_COMPLETED', ...scope, finishReason: 'STOP', usage: USAGE })
}

function writeRequest(
  log: Draft[],
  scope: Scope,
  { callId, ask, id: request }: { readonly callId: string; readonly ask: Ask; readonly id: string },
): 'ended' | 'goes on' {
  const inTurn = { turnId: scope.turnId, stepIndex: null, attempt: null }
  const opened = { ...inTurn, request, callId, prompt: 'May I?', reviewers: [], expiresAt: null }
  const settled = { ...inTurn, request, by: USER, reason: null }
  const end = { type: 'TOOL_CALL_END', ...scope, callId, name: 'tool', output: null, error: null, durationMs: null } as const
  const on = ask === 'answer' ? 'INPUT' : ask === 'sign-in' ? 'AUTHORIZATION' : 'APPROVAL'
  if (on === 'APPROVAL') log.push({ type: 'APPROVAL_REQUESTED', ...opened, name: 'tool', input: { a: 1 } })
  else if (on === 'AUTHORIZATION') log.push({ type: 'AUTHORIZATION_REQUIRED', ...opened, url: 'https://example.com' })
  else log.push({ type: 'INPUT_REQUESTED', ...opened, ...CHOICE, kind: 'QUESTION' })
  log.push({ type: 'TURN_WAITING', ...inTurn, on })
  if (ask === 'withdraw') log.push({ type: 'APPROVAL_CANCELLED', ...inTurn, request, reason: 'superseded' })
  else if (ask === 'answer') log.push({ type: 'INPUT_RESOLVED', ...settled, ...SAID, outcome: 'ANSWERED' })
  else if (ask === 'sign-in') log.push({ type: 'AUTHORIZATION_COMPLETED', ...settled, outcome: 'AUTHORIZED' })
  else log.push({ type: 'APPROVAL_RESOLVED', ...settled, outcome: 'ANSWERED', decision: ask === 'deny' ? 'DENY' : 'APPROVE' })
  log.push({ type: 'TURN_RESUMED', ...inTurn, cause: 'ANSWERED' })
  if (ask === 'approve' || ask === 'sign-in') return 'goes on'
  log.push({ ...end, status: ask === 'deny' ? 'DENIED' : ask === 'withdraw' ? 'CANCELLED' : 'COMPLETED' })
  return 'ended'
}

function writeLimit(log: Draft[], inTurn: { readonly turnId: string; readonly stepIndex: null; readonly attempt: null }): void {
  const request = `req_${inTurn.turnId}`
  const opened = { ...inTurn, request, callId: null, prompt: 'Go on?', reviewers: [], expiresAt: null }
  log.push({ type: 'INPUT_REQUESTED', ...opened, ...CHOICE, kind: 'LIMIT' }, { type: 'TURN_WAITING', ...inTurn, on: 'INPUT' })
  log.push({ type: 'INPUT_RESOLVED', ...inTurn, request, by: null, reason: 'cancelled', ...SAID, outcome: 'CANCELLED' })
  log.push({ type: 'TURN_RESUMED', ...inTurn, cause: 'ANSWERED' })
}

const CHOICE = { options: [{ id: 'continue', label: 'Continue', description: null }], minSelections: 1, maxSelections: 1, allowsText: true }
const SAID = { optionIds: [], text: 'go on', json: null }

function writeWhole(
  log: Draft[],
  scope: Scope,
  { plan, id, interrupted }: { readonly plan: BlockPlan; readonly id: string; readonly interrupted: boolean },
): void {
  const text = plan.pieces.join('')
  if (plan.kind === 'text') log.push({ type: 'MESSAGE_COMPLETED', ...scope, blockId: id, text, finishReason: null, interrupted })
  if (plan.kind === 'reasoning') log.push({ type: 'REASONING_COMPLETED', ...scope, blockId: id, text, interrupted })
}
