/** What follows from an answer, from nobody's answer, and from something else that was said instead. */
import type { Json } from '../../errors.js'
import type { Acting, OpenTurn, ToolStep } from '../checkpoint.js'
import type { Commit } from '../commit.js'
import type { Answers, Message } from '../deliveries.js'
import {
  ANSWER_TOO_LATE,
  CALL_INPUT_CHANGED,
  CALL_WITHDRAWN,
  DENIED_BY_TIME,
  QUESTION_EXPIRED,
  SIGN_IN_DECLINED,
  SIGN_IN_EXPIRED,
  denied,
} from '../failures.js'
import { messagesTo } from '../inbox.js'
import { hashInput } from '../input-hash.js'
import { startable } from '../next.js'
import type { RecordedAnswer, Request } from '../requests.js'
import type { Session } from '../session.js'
import type { SpokenAnswer } from '../spoken-answer.js'
import { resume, settleRequest, withdrawRequests } from './ask.js'
import { endCall, failedResult } from './calls.js'
import { CommitDraft, type Settling } from './draft.js'
import { advance } from './tools.js'
import { beginNextStep, endTurn, receive } from './turn.js'

interface Answered {
  readonly request: Request
  readonly answer: RecordedAnswer
}

/** Answers that were accepted together are applied together; those of requests that are gone are rejected. */
export function settleAnswers(session: Session, given: Answers | SpokenAnswer, settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  const { phase } = session.checkpoint
  const delivery = given.kind === 'SPOKEN' ? given.message : given
  const answered = given.kind === 'SPOKEN' ? [toAnswered(given)] : readAnswers(session, given)
  const [first] = answered
  if (first === undefined) {
    draft.settle(delivery, 'REJECTED', null, ANSWER_TOO_LATE)
    return draft.finish()
  }
  draft.settle(delivery, 'APPLIED', first.request.turnId)
  for (const { request, answer } of answered) settleRequest(draft, request, 'ANSWERED', answer)
  if (phase.kind === 'held') decideLimit(draft, phase.turn, first.answer)
  if (phase.kind === 'acting') {
    const step = answered.reduce((rest, { request, answer }) => applyAnswer(draft, { ...phase, step: rest }, request, answer), phase.step)
    goOn(draft, phase, step, 'ANSWERED')
  }
  return draft.finish()
}

function toAnswered({ request, value, message }: SpokenAnswer): Answered {
  return { request, answer: { ...value, reason: null, by: message.by, at: message.acceptedAt } }
}

function readAnswers({ requests }: Session, { answers, by, acceptedAt: at }: Answers): readonly Answered[] {
  return answers.flatMap(({ requestId, ...value }) => {
    const request = requests.find(({ id }) => id === requestId)
    return request === undefined ? [] : [{ request, answer: { ...value, by, at } }]
  })
}

function applyAnswer(draft: CommitDraft, { turn, step }: Acting, request: Request, answer: RecordedAnswer): ToolStep {
  const { callId: id } = request
  if (id === null) return step
  const { now } = draft.settling
  switch (request.kind) {
    case 'APPROVAL':
      if (answer.decision !== 'APPROVE') {
        return endCall(draft, turn, step, { id, status: 'DENIED', result: failedResult(denied(answer.reason), now) })
      }
      return allowCall(draft, turn, step, request)
    case 'AUTHORIZATION':
      if (answer.decision === 'APPROVE') return allowCall(draft, turn, step, request)
      return endCall(draft, turn, step, { id, status: 'FAILED', result: failedResult(SIGN_IN_DECLINED, now) })
    case 'QUESTION': {
      const output = toOutput(request, answer)
      const result = { output, text: JSON.stringify(output), error: null, truncatedBytes: 0, endedAt: now }
      return endCall(draft, turn, step, { id, status: 'COMPLETED', result })
    }
    case 'LIMIT':
      return step
  }
}

/** What runs is what was approved: a call whose arguments are not those that were shown does not run. */
function allowCall(
  draft: CommitDraft,
  turn: OpenTurn,
  step: ToolStep,
  { id: request, callId, inputHash, grants, served }: Request,
): ToolStep {
  const call = step.calls.find((one) => one.id === callId)
  const row = call === undefined ? undefined : draft.callRow(call.id)
  if (call === undefined || row === undefined) return step
  const { now } = draft.settling
  if (hashInput(row.input) !== inputHash) {
    return endCall(draft, turn, step, { id: call.id, status: 'FAILED', result: failedResult(CALL_INPUT_CHANGED, now) })
  }
  draft.changeCall(call.id, { status: 'REQUESTED' })
  if (grants) draft.grant({ tool: call.name, to: served, request, at: now })
  const { id, name, idempotent, sequential } = call
  return { ...step, calls: step.calls.map((one) => (one.id === id ? { id, name, idempotent, sequential, state: 'requested' } : one)) }
}

/** What a question's answer is to the model: the labels of what was chosen, or what was said. */
function toOutput({ options }: Request, { optionIds, text, json }: RecordedAnswer): Json {
  if (optionIds.length > 0) return { selected: optionIds.map((id) => options.find((option) => option.id === id)?.label ?? id) }
  return text === null ? { json } : { text }
}

/** The budget begins anew, or the turn is over. Whatever its person has said meanwhile joins it. */
function decideLimit(draft: CommitDraft, held: OpenTurn, { optionIds }: RecordedAnswer): void {
  if (!optionIds.includes('continue')) {
    endTurn(draft, held, { status: 'CANCELLED', output: null, reason: 'limit_reached' })
    return
  }
  const turn = resume(draft, held, 'ANSWERED')
  draft.allowBudget()
  const { checkpoint } = draft.session
  receive(draft, turn, messagesTo('join-later', 'tools-running', { checkpoint, deliveries: draft.unsettled(), requests: [] }))
  beginNextStep(draft, turn)
}

/** The turn's person has said something else instead: no call that waits for leave runs, and the message joins. */
export function withdrawForMessages(session: Session, acting: Acting, messages: readonly Message[], settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  withdrawRequests(draft, 'superseded')
  const ended = acting.step.calls.reduce(
    (rest, { id, state }) =>
      state === 'asking'
        ? endCall(draft, acting.turn, rest, { id, status: 'CANCELLED', result: failedResult(CALL_WITHDRAWN, settling.now) })
        : rest,
    acting.step,
  )
  const steeredBy = [...(ended.steeredBy ?? []), ...messages.map(({ id }) => id)]
  goOn(draft, acting, { ...ended, steeredBy }, 'STEERED')
  return draft.finish()
}

/** Nobody has answered in time. */
export function expireRequests(session: Session, acting: Acting, requests: readonly Request[], settling: Settling): Commit {
  const draft = new CommitDraft(session, settling)
  for (const request of requests) settleRequest(draft, request, 'EXPIRED', null)
  const step = requests.reduce((rest, request) => expireCall(draft, { ...acting, step: rest }, request), acting.step)
  goOn(draft, acting, step, 'EXPIRED')
  return draft.finish()
}

function expireCall(draft: CommitDraft, { turn, step }: Acting, request: Request): ToolStep {
  const { kind, onExpire, callId: id } = request
  if (id === null) return step
  if (kind === 'APPROVAL' && onExpire === 'APPROVE') return allowCall(draft, turn, step, { ...request, grants: false })
  const { now } = draft.settling
  if (kind === 'APPROVAL') return endCall(draft, turn, step, { id, status: 'DENIED', result: failedResult(DENIED_BY_TIME, now) })
  const failure = kind === 'QUESTION' ? QUESTION_EXPIRED : SIGN_IN_EXPIRED
  return endCall(draft, turn, step, { id, status: 'FAILED', result: failedResult(failure, now) })
}

/** Its clock runs again as soon as something of the turn does. */
function goOn(draft: CommitDraft, { turn, stopping }: Acting, step: ToolStep, cause: Parameters<typeof resume>[2]): void {
  const isGoing = startable(step.calls).length > 0 || step.calls.every(({ state }) => state === 'ended')
  advance(draft, isGoing ? resume(draft, turn, cause) : turn, step, stopping)
}
