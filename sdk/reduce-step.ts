/** The fold of one step into its assistant message; the rules are those of messages.ts. */
import type { ToolCallStatus } from './generated/operations.js'
import type { LlmChunk, LlmReasoning, LlmToolInput, SessionEvent } from './generated/session-events.js'
import type { AssistantMessage, MessagePart, ToolPart } from './message.js'

type Piece = LlmChunk | LlmReasoning | LlmToolInput

/** The message after an event of its step; the same object when nothing changed. */
export function reduceStep(message: AssistantMessage, event: SessionEvent): AssistantMessage {
  const attempt = event.attempt ?? 1
  switch (event.type) {
    case 'STEP_STARTED':
      return attempt > message.attempt ? { ...message, attempt, status: 'running', error: null } : message
    case 'STEP_COMPLETED':
      return endAttempt(message, attempt, { status: 'completed', finishReason: event.finishReason, usage: event.usage, error: null })
    case 'STEP_RETRYING':
      return endAttempt(message, attempt, { status: 'retrying', error: event.error })
    case 'STEP_INTERRUPTED':
      return endAttempt(message, attempt, { status: 'interrupted' })
    case 'STEP_FAILED':
      return endAttempt(message, attempt, { status: 'failed', error: event.error })
    case 'LLM_CHUNK':
    case 'LLM_REASONING':
    case 'LLM_TOOL_INPUT':
      return addPiece(message, attempt, event)
    case 'MESSAGE_COMPLETED':
    case 'REASONING_COMPLETED': {
      const type = event.type === 'MESSAGE_COMPLETED' ? 'text' : 'reasoning'
      return finish(message, { type, id: event.blockId, attempt, text: event.text, state: event.interrupted ? 'interrupted' : 'done' })
    }
    case 'TOOL_CALL_REQUESTED': {
      const { label, input, inputError } = event
      return finish(message, { ...newCall(event, attempt), label, input, inputError })
    }
    case 'TOOL_CALL_START':
      return changeCall(message, newCall(event, attempt), (call) => (call.status === 'running' ? call : { ...call, status: 'running' }))
    case 'TOOL_CALL_PROGRESS':
      return changeCall(message, newCall({ ...event, name: '' }, attempt), (call) => ({ ...call, progress: event.output }))
    case 'TOOL_CALL_END': {
      const { name, output, error, durationMs } = event
      const ended = { name, status: CALL_STATUS[event.status], progress: null, output, error, durationMs }
      return changeCall(message, newCall(event, attempt), (call) => ({ ...call, ...ended }))
    }
    default:
      return message
  }
}

/** An older attempt's end says nothing of the one that runs (M1). What it left unfinished goes (M4). */
function endAttempt(message: AssistantMessage, attempt: number, ending: Partial<AssistantMessage>): AssistantMessage {
  if (attempt < message.attempt || (attempt === message.attempt && message.status === ending.status)) return message
  return { ...message, attempt, ...ending, parts: message.parts.filter(isFinished) }
}

function addPiece(message: AssistantMessage, attempt: number, piece: Piece): AssistantMessage {
  if (attempt < message.attempt || (attempt === message.attempt && message.status !== 'running')) return message
  const id = piece.type === 'LLM_TOOL_INPUT' ? piece.callId : piece.blockId
  const at = message.parts.findIndex((part) => part.id === id)
  const part = message.parts[at] ?? newPart(piece, attempt)
  if (isFinished(part)) return message
  const text = extend(streamedText(part), piece)
  if (text === null) return message
  const longer = part.type === 'tool' ? { ...part, inputText: text } : { ...part, text }
  const parts = at === -1 ? [...message.parts, longer] : message.parts.with(at, longer)
  // The start of a later attempt is told by its first piece too.
  return attempt > message.attempt ? { ...message, attempt, status: 'running', error: null, parts } : { ...message, parts }
}

/** The text with what the piece adds to it; null when it adds nothing, or pieces before it are missing. */
function extend(text: string, { offset, text: added }: Piece): string | null {
  if (offset > text.length || offset + added.length <= text.length) return null
  return text + added.slice(text.length - offset)
}

function newPart(piece: Piece, attempt: number): MessagePart {
  if (piece.type === 'LLM_TOOL_INPUT') return { ...newCall(piece, attempt), status: 'streaming' }
  return { type: piece.type === 'LLM_CHUNK' ? 'text' : 'reasoning', id: piece.blockId, attempt, text: '', state: 'streaming' }
}

function newCall({ callId, name }: { readonly callId: string; readonly name: string }, attempt: number): ToolPart {
  const nothing = { inputText: '', input: null, inputError: null, progress: null, output: null, error: null, durationMs: null }
  return { type: 'tool', id: callId, attempt, name, label: null, status: 'requested', ...nothing, request: null }
}

function streamedText(part: MessagePart): string {
  return part.type === 'tool' ? part.inputText : part.text
}

function isFinished(part: MessagePart): boolean {
  return part.type === 'tool' ? part.status !== 'streaming' : part.state !== 'streaming'
}

/** Puts the whole in the place of what was streamed of it (M2). */
function finish(message: AssistantMessage, whole: MessagePart): AssistantMessage {
  if (message.parts.some((part) => part.id === whole.id && isFinished(part))) return message
  const others = message.parts.filter((part) => part.id !== whole.id)
  return { ...message, parts: [...others.filter(isFinished), whole, ...others.filter((part) => !isFinished(part))] }
}

/** Changes a call that has not ended; one whose request was not among the events is added. */
function changeCall(message: AssistantMessage, unknown: ToolPart, change: (call: ToolPart) => ToolPart): AssistantMessage {
  const at = message.parts.findIndex((part) => part.id === unknown.id)
  const part = message.parts[at]
  if (part?.type !== 'tool' || !isFinished(part)) return finish(message, change(unknown))
  if (ENDED.has(part.status)) return message
  const changed = change(part)
  return changed === part ? message : { ...message, parts: message.parts.with(at, changed) }
}

const CALL_STATUS = {
  REQUESTED: 'requested',
  WAITING_FOR_APPROVAL: 'waiting-for-approval',
  RUNNING: 'running',
  WAITING: 'running',
  COMPLETED: 'completed',
  FAILED: 'failed',
  DENIED: 'denied',
  CANCELLED: 'cancelled',
  ABANDONED: 'abandoned',
} as const satisfies Record<ToolCallStatus, ToolPart['status']>
const ENDED: ReadonlySet<ToolPart['status']> = new Set(['completed', 'failed', 'denied', 'cancelled', 'abandoned'])
