/** What a session asks of people, one by one: opened, settled, withdrawn. What follows for the calls is answers.ts's to say. */
import type { CallRow } from '../commit.js'
import type { OpenTurn } from '../checkpoint.js'
import { hashInput } from '../input-hash.js'
import { NO_ANSWER, type RecordedAnswer, type Request, type RequestOutcome, type RequestSpec } from '../requests.js'
import type { CommitDraft } from './draft.js'
import { turnScope } from './scope.js'

/** Asks for a call, or, without one, for the turn itself. */
export function openRequest(draft: CommitDraft, turn: OpenTurn, { expiresAfterMs, ...asked }: RequestSpec, call: CallRow | null): Request {
  const { now, ids } = draft.settling
  const request: Request = {
    ...asked,
    id: ids.next('req'),
    turnId: turn.id,
    callId: call?.id ?? null,
    inputHash: call === null ? null : hashInput(call.input),
    served: turn.principal,
    openedAt: now,
    openedAfter: draft.session.inbox,
    expiresAt: expiresAfterMs === null ? null : now + expiresAfterMs,
  }
  draft.openRequest(request)
  recordOpened(draft, turn, request, call)
  return request
}

function recordOpened(draft: CommitDraft, turn: OpenTurn, request: Request, call: CallRow | null): void {
  const { id, kind, prompt, options, minSelections, maxSelections, allowsText, reviewers, expiresAt } = request
  const base = { request: id, callId: request.callId, prompt, reviewers, expiresAt }
  switch (kind) {
    case 'APPROVAL':
      draft.record({ type: 'APPROVAL_REQUESTED', data: { ...base, name: call?.name ?? '', input: call?.input ?? null } }, turnScope(turn))
      return
    case 'AUTHORIZATION':
      draft.record({ type: 'AUTHORIZATION_REQUIRED', data: { ...base, url: request.url } }, turnScope(turn))
      return
    case 'QUESTION':
    case 'LIMIT':
      draft.record({ type: 'INPUT_REQUESTED', data: { ...base, kind, options, minSelections, maxSelections, allowsText } }, turnScope(turn))
  }
}

/** `answer` is null when nobody gave one. */
export function settleRequest(draft: CommitDraft, request: Request, status: 'ANSWERED' | 'EXPIRED', answer: RecordedAnswer | null): void {
  draft.settleRequest({ id: request.id, status, answer, at: draft.settling.now })
  const { id, kind } = request
  const by = answer?.by ?? null
  const reason = answer?.reason ?? null
  const scope = turnScope({ id: request.turnId })
  switch (kind) {
    case 'APPROVAL': {
      const decision = answer === null ? request.onExpire : (answer.decision ?? 'DENY')
      draft.record({ type: 'APPROVAL_RESOLVED', data: { request: id, outcome: status, decision, by, reason } }, scope)
      return
    }
    case 'AUTHORIZATION': {
      const outcome = answer === null ? 'TIMED_OUT' : answer.decision === 'APPROVE' ? 'AUTHORIZED' : 'DECLINED'
      draft.record({ type: 'AUTHORIZATION_COMPLETED', data: { request: id, outcome, by, reason } }, scope)
      return
    }
    case 'QUESTION':
    case 'LIMIT': {
      const { optionIds, text, json } = answer ?? NO_ANSWER
      draft.record({ type: 'INPUT_RESOLVED', data: { request: id, outcome: status, optionIds, text, json, by, reason } }, scope)
    }
  }
}

/** Takes back whatever the turn still asks. `reason` is for people. */
export function withdrawRequests(draft: CommitDraft, reason: string, status: Exclude<RequestOutcome, 'ANSWERED'> = 'CANCELLED'): void {
  for (const request of draft.openRequests()) {
    const { id, kind, turnId } = request
    const scope = turnScope({ id: turnId })
    draft.settleRequest({ id, status, answer: null, at: draft.settling.now })
    if (kind === 'APPROVAL') draft.record({ type: 'APPROVAL_CANCELLED', data: { request: id, reason } }, scope)
    else if (kind === 'AUTHORIZATION') {
      const outcome = status === 'EXPIRED' ? 'TIMED_OUT' : 'DECLINED'
      draft.record({ type: 'AUTHORIZATION_COMPLETED', data: { request: id, outcome, by: null, reason } }, scope)
    } else draft.record({ type: 'INPUT_RESOLVED', data: { request: id, outcome: status, ...NOBODY, by: null, reason } }, scope)
  }
}

const { optionIds, text, json } = NO_ANSWER
const NOBODY = { optionIds, text, json }

/** The turn waited for somebody, and goes on. */
export function resume(draft: CommitDraft, turn: OpenTurn, cause: 'ANSWERED' | 'EXPIRED' | 'STEERED' | 'TIMER'): OpenTurn {
  if (turn.activeSince !== null) return turn
  draft.record({ type: 'TURN_RESUMED', data: { cause } }, turnScope(turn))
  draft.turnStatus = { id: turn.id, status: 'RUNNING' }
  return { ...turn, activeSince: draft.settling.now }
}
