/**
 * The rules of what a session asks of people, over its log: every request is settled once, within its turn; and a call that needed leave starts
 * only after it was given (R3). Returns what is broken, in words.
 */
import type { RecordedEvent } from '../../server/session/events.js'

interface Asked {
  readonly callId: string | null
  readonly isApproval: boolean
}

class RequestCheck {
  readonly broken: string[] = []
  readonly #open = new Map<string, Asked>()
  readonly #settled = new Set<string>()
  /** Calls that may not start: their approval is open, or was not given. */
  readonly #held = new Set<string>()
  #waits = false

  take(event: RecordedEvent): void {
    switch (event.type) {
      case 'APPROVAL_REQUESTED':
      case 'INPUT_REQUESTED':
      case 'AUTHORIZATION_REQUIRED':
        this.#opens(event, { callId: event.data.callId, isApproval: event.type === 'APPROVAL_REQUESTED' })
        return
      case 'APPROVAL_RESOLVED':
        this.#settles(event, event.data.request, event.data.decision === 'APPROVE')
        return
      case 'APPROVAL_CANCELLED':
      case 'INPUT_RESOLVED':
        this.#settles(event, event.data.request, false)
        return
      case 'AUTHORIZATION_COMPLETED':
        this.#settles(event, event.data.request, event.data.outcome === 'AUTHORIZED')
        return
      case 'TOOL_CALL_START':
        if (this.#held.has(event.data.callId)) this.#fault(event, 'starts a call that nobody has allowed')
        if (this.#waits) this.#fault(event, 'starts a call of a turn that waits')
        return
      case 'TURN_WAITING':
        this.#waits = true
        if (event.data.on !== 'TIMER' && this.#open.size === 0) this.#fault(event, 'waits for nobody')
        return
      case 'TURN_RESUMED':
        this.#waits = false
        return
      case 'TURN_COMPLETED':
      case 'TURN_FAILED':
      case 'TURN_CANCELLED':
        this.#waits = false
        for (const id of this.#open.keys()) this.#fault(event, `leaves the request ${id} open`)
        return
      default:
    }
  }

  finish(atRest: boolean): readonly string[] {
    if (atRest) for (const id of this.#open.keys()) this.broken.push(`request ${id} is never settled (E1)`)
    return this.broken
  }

  #opens(event: RecordedEvent & { readonly data: { readonly request: string } }, asked: Asked): void {
    const { request } = event.data
    if (this.#open.has(request) || this.#settled.has(request)) this.#fault(event, 'is asked again (E1)')
    if (event.turnId === null) this.#fault(event, 'belongs to no turn')
    this.#open.set(request, asked)
    if (asked.callId !== null) this.#held.add(asked.callId)
  }

  #settles(event: RecordedEvent, request: string, isAllowed: boolean): void {
    const asked = this.#open.get(request)
    if (asked === undefined) this.#fault(event, `settles ${request}, which is not open (E1)`)
    this.#open.delete(request)
    this.#settled.add(request)
    if (isAllowed && asked?.callId != null) this.#held.delete(asked.callId)
  }

  #fault(event: RecordedEvent, what: string): void {
    this.broken.push(`${event.type} at ${event.position} ${what}`)
  }
}

/** The whole log of a session, in order. `atRest`: no turn is open at its end. */
export function checkRequests(events: readonly RecordedEvent[], atRest = true): readonly string[] {
  const check = new RequestCheck()
  for (const event of events) check.take(event)
  return check.finish(atRest)
}
