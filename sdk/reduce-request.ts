/** The fold of what people are asked into the parts and turns that it is about; the rules are those of messages.ts. */
import type {
  ApprovalCancelled,
  ApprovalRequested,
  ApprovalResolved,
  AuthorizationCompleted,
  AuthorizationRequired,
  InputRequested,
  InputResolved,
} from './generated/session-events.js'
import type { AskedRequest, Message, ToolPart, WaitingStatus } from './message.js'

export type RequestOpened = ApprovalRequested | InputRequested | AuthorizationRequired
export type RequestClosed = ApprovalResolved | ApprovalCancelled | InputResolved | AuthorizationCompleted

export function toAskedRequest(event: RequestOpened): AskedRequest {
  const { request: id, prompt, reviewers, expiresAt } = event
  const open = { id, status: 'open', prompt, reviewers, expiresAt, ...DECIDED, ...UNANSWERED } as const
  switch (event.type) {
    case 'APPROVAL_REQUESTED':
      return { ...open, kind: 'APPROVAL' }
    case 'AUTHORIZATION_REQUIRED':
      return { ...open, kind: 'AUTHORIZATION', url: event.url }
    case 'INPUT_REQUESTED': {
      const { kind, options, minSelections, maxSelections, allowsText } = event
      return { ...open, kind, options, minSelections, maxSelections, allowsText }
    }
  }
}

const DECIDED = { options: [], minSelections: 1, maxSelections: 1, allowsText: false, url: null } as const
const UNANSWERED = { decision: null, optionIds: [], text: null, json: null, by: null, reason: null } as const

/** The call waits for somebody; the same messages when it has begun, or is not among them (M1). */
export function askOfCall(messages: readonly Message[], callId: string, request: AskedRequest): readonly Message[] {
  return changePart(
    messages,
    (part) => part.id === callId && !HAS_BEGUN.has(part.status),
    (part) => (part.request?.id === request.id ? part : { ...part, status: WAITS[request.kind], request }),
  )
}

/** The call waits no more; the same messages when none of their parts waits for this. */
export function closeOfCall(messages: readonly Message[], event: RequestClosed): readonly Message[] {
  return changePart(
    messages,
    (part) => isOpen(part.request, event),
    (part) => ({ ...part, status: WAITING.has(part.status) ? 'requested' : part.status, request: close(part.request, event) }),
  )
}

export function isOpen(request: AskedRequest | null, { request: id }: RequestClosed): boolean {
  return request?.id === id && request.status === 'open'
}

export function close(request: AskedRequest | null, event: RequestClosed): AskedRequest | null {
  return request === null ? null : { ...request, ...toEnding(event) }
}

function toEnding(event: RequestClosed): Partial<AskedRequest> {
  switch (event.type) {
    case 'APPROVAL_CANCELLED':
      return { status: 'cancelled', reason: event.reason }
    case 'APPROVAL_RESOLVED': {
      const { outcome, decision, by, reason } = event
      return { status: STATUS[outcome], decision, by, reason }
    }
    case 'INPUT_RESOLVED': {
      const { outcome, optionIds, text, json, by, reason } = event
      return { status: STATUS[outcome], optionIds, text, json, by, reason }
    }
    case 'AUTHORIZATION_COMPLETED': {
      const { outcome, by, reason } = event
      const decision = outcome === 'AUTHORIZED' ? 'APPROVE' : 'DENY'
      if (outcome === 'TIMED_OUT') return { status: 'expired', decision, by, reason }
      // One that nobody declined was withdrawn.
      return { status: outcome === 'DECLINED' && by === null ? 'cancelled' : 'answered', decision, by, reason }
    }
  }
}

/** The newest message that has such a part, with it changed. */
function changePart(
  messages: readonly Message[],
  isMeant: (part: ToolPart) => boolean,
  change: (part: ToolPart) => ToolPart,
): readonly Message[] {
  const indexIn = (message: Message): number =>
    message.role === 'assistant' ? message.parts.findIndex((part) => part.type === 'tool' && isMeant(part)) : -1
  const at = messages.findLastIndex((message) => indexIn(message) !== -1)
  const message = messages[at]
  if (message?.role !== 'assistant') return messages
  const index = indexIn(message)
  const part = message.parts[index]
  if (part?.type !== 'tool') return messages
  const changed = change(part)
  return changed === part ? messages : messages.with(at, { ...message, parts: message.parts.with(index, changed) })
}

const STATUS = { PENDING: 'open', ANSWERED: 'answered', CANCELLED: 'cancelled', EXPIRED: 'expired' } as const
const WAITS = {
  APPROVAL: 'waiting-for-approval',
  QUESTION: 'waiting-for-input',
  LIMIT: 'waiting-for-input',
  AUTHORIZATION: 'waiting-for-authorization',
} as const satisfies Record<AskedRequest['kind'], WaitingStatus>
const WAITING: ReadonlySet<ToolPart['status']> = new Set(Object.values(WAITS))
const HAS_BEGUN: ReadonlySet<ToolPart['status']> = new Set(['running', 'completed', 'failed', 'denied', 'cancelled', 'abandoned'])
