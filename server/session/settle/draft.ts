/** A commit being written: gathers the rows and events of one outcome and hands them over as one value. */
import type { Checkpoint, Phase } from '../checkpoint.js'
import type {
  CallRow,
  ClosedStep,
  ClosedTurn,
  Commit,
  Grant,
  Guard,
  HistoryEpochRow,
  SessionChange,
  SettledDelivery,
  SettledRequest,
  StepRow,
  TurnRow,
  TurnStatusChange,
} from '../commit.js'
import type { Delivery } from '../deliveries.js'
import type { DeliveryOutcome, EventFact, NewEvent } from '../events.js'
import type { HistoryItem } from '../history.js'
import { PerdureError, type Failure } from '../../errors.js'
import type { CallId, IdSource, TurnId } from '../../ids.js'
import { stateTooLarge } from '../failures.js'
import type { AgentLimits } from '../agent-port.js'
import type { Request } from '../requests.js'
import type { Session } from '../session.js'
import { MAX_STATE_BYTES, type SessionState } from '../state.js'
import { statusOf } from '../status-of.js'
import { addUsage, type TokenUsage } from '../usage.js'
import { SESSION_SCOPE, type Scope } from './scope.js'

/** What every settling function is given beside the session: the only things that it cannot derive. */
export interface Settling {
  readonly now: number
  readonly ids: IdSource
  readonly limits: AgentLimits
  readonly model: string
  /** In [0, 1), for jitter. */
  readonly random: number
  /** The process is about to stop: no call begins. */
  readonly draining: boolean
}

export class CommitDraft {
  readonly session: Session
  readonly settling: Settling
  /** Set by whatever ends or parks the session. */
  park: Commit['park'] = null
  openedTurn: TurnRow | null = null
  closedTurn: ClosedTurn | null = null
  turnStatus: TurnStatusChange | null = null
  openedStep: StepRow | null = null
  closedStep: ClosedStep | null = null
  /** Its status is derived in the end. */
  change: Omit<SessionChange, 'status'> | null = null
  /** A call runs again, without another recorded start. */
  runsAgain = false
  readonly #calls: Map<CallId, { readonly row: CallRow; readonly isNew: boolean }> = new Map()
  #checkpoint: Checkpoint
  readonly #events: NewEvent[] = []
  readonly #history: HistoryItem[] = []
  #newEpoch: HistoryEpochRow | null = null
  readonly #settled: SettledDelivery[] = []
  readonly #newRequests: Request[] = []
  readonly #settledRequests: SettledRequest[] = []
  readonly #grants: Grant[] = []
  #state: SessionState | null = null

  constructor(session: Session, settling: Settling) {
    this.session = session
    this.settling = settling
    this.#checkpoint = session.checkpoint
  }

  get checkpoint(): Checkpoint {
    return this.#checkpoint
  }

  /** Records a fact, in the order of the calls. */
  record(fact: EventFact, scope: Scope = SESSION_SCOPE): void {
    this.#events.push({ ...fact, at: this.settling.now, ...scope })
  }

  appendHistory(items: readonly HistoryItem[]): void {
    if (this.#newEpoch !== null && items.length > 0) throw new PerdureError('INTERNAL', 'history is appended after it was cleared')
    this.#history.push(...items)
    this.#checkpoint = { ...this.#checkpoint, historyLength: this.#checkpoint.historyLength + items.length }
  }

  /** The model reads nothing of what was before; what this draft has appended stays at the end of the old epoch. */
  clearHistory(): void {
    const epoch = this.#checkpoint.historyEpoch + 1
    this.#newEpoch = { epoch, kind: 'CLEAR', at: this.settling.now }
    this.#checkpoint = { ...this.#checkpoint, historyEpoch: epoch, historyLength: 0 }
    this.record({ type: 'CONTEXT_CLEARED', data: {} })
  }

  countUsage(usage: TokenUsage | null): void {
    this.#checkpoint = { ...this.#checkpoint, usage: addUsage(this.#checkpoint.usage, usage) }
  }

  /** From now on the budget counts anew. */
  allowBudget(): void {
    this.#checkpoint = { ...this.#checkpoint, allowedFrom: this.#checkpoint.usage }
  }

  countTurn(): number {
    this.#checkpoint = { ...this.#checkpoint, turns: this.#checkpoint.turns + 1 }
    return this.#checkpoint.turns
  }

  settle(delivery: Delivery, status: DeliveryOutcome, turnId: TurnId | null, rejection: Failure | null = null): void {
    this.#settled.push({ id: delivery.id, status, turnId, rejection, at: this.settling.now })
    const data = { delivery: delivery.id, status, turn: turnId, reason: rejection?.code ?? null }
    this.record({ type: 'DELIVERY_SETTLED', data }, { ...SESSION_SCOPE, turnId })
  }

  /** Deliveries of the session that this draft has not settled. */
  unsettled(): readonly Delivery[] {
    const settled = new Set(this.#settled.map((delivery) => delivery.id))
    return this.session.deliveries.filter((delivery) => !settled.has(delivery.id))
  }

  openRequest(request: Request): void {
    this.#newRequests.push(request)
  }

  settleRequest(request: SettledRequest): void {
    this.#settledRequests.push(request)
  }

  /** As this draft leaves them. */
  openRequests(): readonly Request[] {
    const settled = new Set(this.#settledRequests.map(({ id }) => id))
    return [...this.session.requests, ...this.#newRequests].filter(({ id }) => !settled.has(id))
  }

  grant(grant: Grant): void {
    if (!this.#grants.some(({ tool }) => tool === grant.tool)) this.#grants.push(grant)
  }

  /** The row of a call of the open step, as this draft leaves it. */
  callRow(id: CallId): CallRow | undefined {
    return this.#calls.get(id)?.row ?? this.session.calls.get(id)
  }

  addCall(row: CallRow): void {
    this.#calls.set(row.id, { row, isNew: true })
  }

  /** Changes a call; several changes of one call, also of a new one, are one row. */
  changeCall(id: CallId, change: Pick<CallRow, 'status'> & Partial<Pick<CallRow, 'startedAt' | 'result'>>): void {
    const row = this.callRow(id)
    if (row === undefined) throw new PerdureError('INTERNAL', `call ${id} is not of the open step`)
    this.#calls.set(id, { row: { ...row, ...change }, isNew: this.#calls.get(id)?.isNew ?? false })
  }

  /** Null: it is changed. Else why it cannot be, and it stays as it was. */
  changeState(changes: SessionState): Failure | null {
    const state = { ...(this.#state ?? this.session.state), ...changes }
    const bytes = Buffer.byteLength(JSON.stringify(state))
    if (bytes > MAX_STATE_BYTES) return stateTooLarge(bytes)
    this.#state = state
    return null
  }

  enter(phase: Phase): void {
    this.#checkpoint = { ...this.#checkpoint, phase }
  }

  finish(): Commit {
    const calls = [...this.#calls.values()]
    return {
      checkpoint: this.#checkpoint,
      guard: this.#guard(),
      events: this.#events,
      history: this.#history,
      historyFrom: { epoch: this.session.checkpoint.historyEpoch, position: this.session.checkpoint.historyLength },
      newEpoch: this.#newEpoch,
      openedTurn: this.openedTurn,
      closedTurn: this.closedTurn,
      turnStatus: this.turnStatus,
      openedStep: this.openedStep,
      closedStep: this.closedStep,
      newCalls: calls.filter(({ isNew }) => isNew).map(({ row }) => row),
      changedCalls: calls.filter(({ isNew }) => !isNew).map(({ row }) => row),
      newRequests: this.#newRequests,
      settledRequests: this.#settledRequests,
      grants: this.#grants,
      settled: this.#settled,
      state: this.#state,
      session: this.#change(),
      park: this.park,
    }
  }

  /** Also when only the status follows from what it is at. */
  #change(): SessionChange | null {
    const status = statusOf(this.#checkpoint.phase, this.openRequests(), this.session.status)
    if (this.change === null && status === this.session.status) return null
    const change = this.change ?? { usage: this.#checkpoint.usage, at: this.settling.now, expiresAt: null, end: null }
    return { ...change, status }
  }

  /**
   * R4: what parks or ends the session overlooks no delivery, nor does what opens or settles requests; what begins an effect or ends a turn
   * overlooks no control.
   */
  #guard(): Guard {
    if (this.park !== null || this.#newRequests.length > 0 || this.#settledRequests.length > 0) return 'inbox'
    const startsCall = this.runsAgain || this.#events.some((event) => event.type === 'TOOL_CALL_START')
    return startsCall || this.openedStep !== null || this.closedTurn !== null ? 'control' : 'none'
  }
}
