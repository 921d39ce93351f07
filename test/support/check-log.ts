/**
 * The rules of the log (server/session/events.ts, E1–E4), checked over the events of one session as they were recorded.
 * Returns what is broken, in words; a test expects an empty list.
 */
import type { RecordedEvent } from '../../server/session/events.js'
import { checkRequests } from './check-requests.js'

export interface LogCheckOptions {
  /** False: the log may stop anywhere, so what is open at its end is no fault. Default: true, the session is at rest. */
  readonly atRest?: boolean
  /** Chunks of ended turns may be gone; then positions have holes. Default: false. */
  readonly pruned?: boolean
}

interface Call {
  started: boolean
}

class LogCheck {
  readonly broken: string[] = []
  readonly #settledDeliveries = new Set<string>()
  readonly #calls = new Map<string, Call>()
  readonly #endedCalls = new Set<string>()
  /** Open blocks, with the length streamed so far. */
  readonly #blocks = new Map<string, number>()
  readonly #closedBlocks = new Set<string>()
  #turn: string | null = null
  #turnsSeen = 0
  #turnWaits = false
  #attempt: string | null = null
  #ended = false
  #started = false

  take(event: RecordedEvent): void {
    if (this.#ended) this.#fault(event, 'comes after the end of the session (E2)')
    this.#takeTurn(event)
    this.#takeStep(event)
    this.#takeBlock(event)
    this.#takeCall(event)
    this.#takeSession(event)
  }

  finish(atRest: boolean): readonly string[] {
    if (!atRest) return this.broken
    if (this.#turn !== null) this.broken.push(`turn ${this.#turn} is never closed (E1)`)
    if (this.#attempt !== null) this.broken.push(`attempt ${this.#attempt} is never closed (E1)`)
    for (const id of this.#calls.keys()) this.broken.push(`call ${id} is never closed (E1)`)
    for (const id of this.#blocks.keys()) this.broken.push(`block ${id} is neither completed nor retracted (E1, E4)`)
    return this.broken
  }

  #fault(event: RecordedEvent, what: string): void {
    this.broken.push(`${event.type} at ${event.position} ${what}`)
  }

  #takeSession(event: RecordedEvent): void {
    switch (event.type) {
      case 'SESSION_STARTED':
        if (this.#started) this.#fault(event, 'repeats the start of the session')
        this.#started = true
        return
      case 'SESSION_WAITING':
      case 'CONTEXT_CLEARED':
        if (this.#turn !== null) this.#fault(event, 'comes while a turn is open')
        return
      case 'SESSION_COMPLETED':
      case 'SESSION_FAILED':
      case 'SESSION_CANCELLED':
        if (this.#turn !== null) this.#fault(event, 'comes while a turn is open (E1)')
        this.#ended = true
        return
      case 'DELIVERY_SETTLED':
        if (this.#settledDeliveries.has(event.data.delivery)) this.#fault(event, `settles ${event.data.delivery} again (E1)`)
        this.#settledDeliveries.add(event.data.delivery)
        return
      default:
    }
  }

  #takeTurn(event: RecordedEvent): void {
    switch (event.type) {
      case 'TURN_STARTED':
        if (this.#turn !== null) this.#fault(event, `opens a turn while ${this.#turn} is open`)
        this.#turn = event.turnId
        this.#turnsSeen += 1
        if (event.data.number !== this.#turnsSeen) this.#fault(event, `has number ${event.data.number}, expected ${this.#turnsSeen}`)
        return
      case 'TURN_WAITING':
        if (this.#turnWaits) this.#fault(event, 'repeats the waiting')
        this.#turnWaits = true
        return
      case 'TURN_RESUMED':
        if (!this.#turnWaits) this.#fault(event, 'resumes a turn that does not wait')
        this.#turnWaits = false
        return
      case 'TURN_COMPLETED':
      case 'TURN_FAILED':
      case 'TURN_CANCELLED':
        if (event.turnId !== this.#turn) this.#fault(event, `closes ${String(event.turnId)}, open is ${String(this.#turn)} (E1)`)
        if (this.#attempt !== null) this.#fault(event, `leaves the attempt ${this.#attempt} open (E1)`)
        for (const id of this.#calls.keys()) this.#fault(event, `leaves the call ${id} open (E1)`)
        this.#turn = null
        this.#turnWaits = false
        return
      default:
        if (event.turnId !== null && event.type !== 'DELIVERY_SETTLED' && event.turnId !== this.#turn)
          this.#fault(event, `belongs to ${event.turnId}, open is ${String(this.#turn)}`)
    }
  }

  #takeStep(event: RecordedEvent): void {
    const attempt = `${event.turnId}/${event.stepIndex}#${event.attempt}`
    switch (event.type) {
      case 'STEP_STARTED':
        if (this.#attempt !== null) this.#fault(event, `begins while ${this.#attempt} is open`)
        this.#attempt = attempt
        return
      case 'STEP_RETRYING':
      case 'STEP_INTERRUPTED':
        this.#blocks.clear()
        this.#closeAttempt(event, attempt)
        return
      case 'STEP_COMPLETED':
      case 'STEP_FAILED':
        if (event.type === 'STEP_FAILED') this.#blocks.clear()
        this.#closeAttempt(event, attempt)
        return
      default:
    }
  }

  #closeAttempt(event: RecordedEvent, attempt: string): void {
    if (this.#attempt !== attempt) this.#fault(event, `closes ${attempt}, open is ${String(this.#attempt)} (E1)`)
    this.#attempt = null
  }

  #takeBlock(event: RecordedEvent): void {
    switch (event.type) {
      case 'LLM_CHUNK':
      case 'LLM_REASONING': {
        const { blockId, offset, text } = event.data
        if (this.#closedBlocks.has(blockId)) this.#fault(event, `adds to the completed block ${blockId} (E1)`)
        const length = this.#blocks.get(blockId) ?? 0
        // A piece may come again after a lost reply, at an offset that was passed; never with a hole.
        if (offset > length) this.#fault(event, `leaves a hole in ${blockId}: ${length} before, offset ${offset}`)
        this.#blocks.set(blockId, Math.max(length, offset + text.length))
        return
      }
      case 'MESSAGE_COMPLETED':
      case 'REASONING_COMPLETED': {
        const { blockId, text } = event.data
        if (this.#closedBlocks.has(blockId)) this.#fault(event, `completes ${blockId} again (E1)`)
        const streamed = this.#blocks.get(blockId)
        if (streamed !== undefined && streamed !== text.length)
          this.#fault(event, `completes ${blockId} with ${text.length}, streamed were ${streamed}`)
        this.#blocks.delete(blockId)
        this.#closedBlocks.add(blockId)
        return
      }
      default:
    }
  }

  #takeCall(event: RecordedEvent): void {
    switch (event.type) {
      case 'TOOL_CALL_REQUESTED':
        if (this.#calls.has(event.data.callId) || this.#endedCalls.has(event.data.callId)) this.#fault(event, 'is requested again (E1)')
        this.#calls.set(event.data.callId, { started: false })
        return
      case 'TOOL_CALL_START': {
        const call = this.#calls.get(event.data.callId)
        if (call === undefined) this.#fault(event, 'starts a call that is not open')
        else if (call.started) this.#fault(event, 'starts a call again (R3)')
        else call.started = true
        return
      }
      case 'TOOL_CALL_PROGRESS':
        if (this.#calls.get(event.data.callId)?.started !== true) this.#fault(event, 'is of a call that does not run')
        return
      case 'TOOL_CALL_END':
        if (!this.#calls.delete(event.data.callId)) this.#fault(event, 'ends a call that is not open (E1)')
        this.#endedCalls.add(event.data.callId)
        return
      default:
    }
  }
}

/** The whole log of a session, in order. */
export function checkLog(events: readonly RecordedEvent[], { atRest = true, pruned = false }: LogCheckOptions = {}): readonly string[] {
  const check = new LogCheck()
  let last = 0
  for (const event of events) {
    if (pruned ? event.position <= last : event.position !== last + 1) check.broken.push(`position ${event.position} follows ${last}`)
    last = event.position
    check.take(event)
  }
  if (events.length > 0 && events.at(-1)?.endsWrite !== true) check.broken.push('the log stops inside a write (E3)')
  return [...check.finish(atRest), ...checkRequests(events, atRest)]
}
