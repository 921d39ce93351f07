/** Events as a session records them, with what a test cares about. */
import type { Json } from '../../server/errors.js'
import { storedId } from '../../server/ids.js'
import type { NewEvent, StreamedEvent } from '../../server/session/events.js'
import { NO_USAGE } from '../../server/session/usage.js'

const SCOPE = { at: 0, turnId: storedId('turn', 'turn_1'), stepIndex: 0, attempt: 1 }
const NO_SCOPE = { at: 0, turnId: null, stepIndex: null, attempt: null }

export function chunk(block: string, offset: number, text: string, attempt = 1): StreamedEvent {
  return { ...SCOPE, attempt, type: 'LLM_CHUNK', data: { blockId: storedId('blk', `blk_${block}`), offset, text } }
}

export function reasoning(block: string, offset: number, text: string): StreamedEvent {
  return { ...SCOPE, type: 'LLM_REASONING', data: { blockId: storedId('blk', `blk_${block}`), offset, text } }
}

export function toolInput(call: string, offset: number, text: string): StreamedEvent {
  return { ...SCOPE, type: 'LLM_TOOL_INPUT', data: { callId: storedId('call', `call_${call}`), name: 'search', offset, text } }
}

export function progress(call: string, output: Json): StreamedEvent {
  return { ...SCOPE, type: 'TOOL_CALL_PROGRESS', data: { callId: storedId('call', `call_${call}`), output } }
}

export function turnResumed(cause: string): NewEvent {
  return { ...NO_SCOPE, type: 'TURN_RESUMED', data: { cause } }
}

export function stepInterrupted(): NewEvent {
  return { ...SCOPE, type: 'STEP_INTERRUPTED', data: { reason: 'STEERED' } }
}

export function sessionCompleted(): NewEvent {
  return { ...NO_SCOPE, type: 'SESSION_COMPLETED', data: { reason: 'ENDED', error: null, usage: NO_USAGE } }
}
