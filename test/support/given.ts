/** Sessions as values, for tests of the pure half of the heart: a phase, an inbox, calls with their rows. */
import { createIdSource, storedId, type IdSource } from '../../server/ids.js'
import type { Acting, Modelling, ModelStep, OpenCall, OpenTurn, Phase, Stopping } from '../../server/session/checkpoint.js'
import type { CallResult, CallRow } from '../../server/session/commit.js'
import { isControl, type CancelContent, type Delivery, type DeliveryContent, type Message } from '../../server/session/deliveries.js'
import { DEFAULT_LIMITS } from '../../server/agents/limits.js'
import { hashInput } from '../../server/session/input-hash.js'
import type { ModelAnswered, ModelFailed, RequestedCall, ToolEnded } from '../../server/session/outcomes.js'
import type { AgentLimits } from '../../server/session/agent-port.js'
import type { Principal } from '../../server/session/principal.js'
import { NO_ANSWER, askApproval, type Answer, type Request } from '../../server/session/requests.js'
import type { Session, SessionMode } from '../../server/session/session.js'
import type { Settling } from '../../server/session/settle/draft.js'
import type { SessionStatus } from '../../server/session/status.js'
import { statusOf } from '../../server/session/status-of.js'
import { NO_USAGE, type TokenUsage } from '../../server/session/usage.js'

export const NOW = 1_700_000_000_000
/** The lease that a given session is held under; a smaller epoch is a dead worker's. */
export const EPOCH = 7
export const LIMITS: AgentLimits = DEFAULT_LIMITS
export const ALICE: Principal = { tenant: 'default', id: 'alice', kind: 'USER' }
export const BOB: Principal = { tenant: 'default', id: 'bob', kind: 'USER' }
export const TURN = storedId('turn', 'turn_open')
export const STEP = storedId('stp', 'stp_open')

const ids: IdSource = createIdSource(() => NOW)

export function settlingAt(now: number = NOW, change: Partial<Settling> = {}): Settling {
  return { now, ids, limits: LIMITS, model: 'scripted', random: 0, draining: false, ...change }
}

export function limits(change: Partial<AgentLimits>): AgentLimits {
  return { ...LIMITS, ...change }
}

export interface Given {
  readonly phase: Phase
  /** Default: what a session in this phase is, RUNNING when a message waits at rest. */
  readonly status?: SessionStatus
  readonly deliveries?: readonly Delivery[]
  readonly calls?: readonly CallRow[]
  readonly requests?: readonly Request[]
  readonly usage?: TokenUsage
  readonly turns?: number
  readonly historyLength?: number
  /** Default: 1, a claim like any other. */
  readonly claims?: number
  readonly mode?: SessionMode
  readonly idleTimeoutMs?: number | null
  readonly expiresAt?: number | null
}

export function givenSession({
  phase,
  status,
  deliveries = [],
  calls = [],
  requests = [],
  usage = NO_USAGE,
  turns,
  historyLength,
  claims = 1,
  mode = 'CONVERSATION',
  idleTimeoutMs = null,
  expiresAt = null,
}: Given): Session {
  const newest = deliveries.at(-1)?.position ?? 0
  const id = storedId('ses', 'ses_given')
  return {
    facts: { id, agent: 'support', mode, tenant: 'default', owner: ALICE, deployment: 'test', metadata: {}, title: null, idleTimeoutMs },
    lease: { sessionId: id, owner: storedId('wrk', 'wrk_given'), epoch: EPOCH },
    revision: 10,
    status: status ?? givenStatus(phase, deliveries, requests),
    checkpoint: {
      turns: turns ?? (phase.kind === 'created' ? 0 : 1),
      historyEpoch: 1,
      historyLength: historyLength ?? (phase.kind === 'created' ? 0 : 1),
      usage,
      phase,
    },
    deliveries,
    inbox: newest,
    control: deliveries.findLast((delivery) => isControl(delivery.kind))?.position ?? 0,
    expiresAt,
    state: {},
    calls: new Map(calls.map((row) => [row.id, row])),
    requests,
    claims,
  }
}

function givenStatus(phase: Phase, deliveries: readonly Delivery[], requests: readonly Request[]): SessionStatus {
  const isAsked = deliveries.some((delivery) => delivery.kind === 'MESSAGE')
  const before = isAsked ? 'RUNNING' : phase.kind === 'created' ? 'CREATED' : 'IDLE'
  return statusOf(phase, requests, before)
}

// ---- phases

export function givenTurn(change: Partial<OpenTurn> = {}): OpenTurn {
  return {
    id: TURN,
    number: 1,
    principal: ALICE,
    startedAt: NOW - 1000,
    activeMs: 0,
    activeSince: NOW - 1000,
    steps: 1,
    calls: 0,
    takeovers: 0,
    usage: NO_USAGE,
    ...change,
  }
}

export function modelling(step: Partial<ModelStep> = {}, turn: Partial<OpenTurn> = {}): Modelling {
  const base: ModelStep = { id: STEP, index: 0, attempt: 1, epoch: EPOCH, failures: 0, retryAt: null, startedAt: NOW - 1000 }
  return { kind: 'modelling', turn: givenTurn(turn), step: { ...base, ...step } }
}

export function acting(calls: readonly OpenCall[], turn: Partial<OpenTurn> = {}, stopping: Stopping | null = null): Acting {
  return { kind: 'acting', turn: givenTurn({ calls: calls.length, ...turn }), step: { id: STEP, index: 0, attempt: 1, calls }, stopping }
}

// ---- calls

export interface CallTraits {
  readonly idempotent?: boolean
  readonly sequential?: boolean
  readonly epoch?: number
}

export function openCall(name: string, state: OpenCall['state'], traits: CallTraits = {}): OpenCall {
  const { idempotent = false, sequential = false, epoch = EPOCH } = traits
  const base = { id: storedId('call', `call_${name}`), name, idempotent, sequential }
  if (state === 'started') return { ...base, state, epoch, startedAt: NOW - 500 }
  return state === 'asking' ? { ...base, state, request: requestId(name) } : { ...base, state }
}

/** The rows beside these calls; one that has ended was COMPLETED. */
export function rowsOf(calls: readonly OpenCall[]): readonly CallRow[] {
  return calls.map(({ id, name, state }, order) => ({
    id,
    turnId: TURN,
    stepId: STEP,
    stepIndex: 0,
    order,
    name,
    label: null,
    input: {},
    rawInput: null,
    status: ({ requested: 'REQUESTED', asking: 'WAITING_FOR_APPROVAL', started: 'RUNNING', ended: 'COMPLETED' } as const)[state],
    startedAt: state === 'requested' || state === 'asking' ? null : NOW - 500,
    result: state === 'ended' ? resultOf(name) : null,
  }))
}

export function resultOf(name: string): CallResult {
  return { output: name, text: `result of ${name}`, error: null, truncatedBytes: 0, endedAt: NOW }
}

// ---- requests

function requestId(name: string) {
  return storedId('req', `req_${name}`)
}

/** An open approval of the call of this name, asked when nothing had been delivered. */
export function asks(name: string, change: Partial<Request> = {}): Request {
  const { expiresAfterMs: _, ...spec } = askApproval(`Allow ${name}?`)
  return {
    ...spec,
    ...{ id: requestId(name), turnId: TURN, callId: storedId('call', `call_${name}`), inputHash: hashInput({}), served: ALICE },
    ...{ openedAt: NOW - 500, openedAfter: 0, expiresAt: null },
    ...change,
  }
}

export function answers(position: number, ...given: readonly (Partial<Answer> & { readonly to: string })[]): Delivery {
  const full = given.map(({ to, ...answer }) => ({ requestId: requestId(to), ...NO_ANSWER, reason: null, ...answer }))
  return { ...accepted(position, ALICE), kind: 'ANSWERS', answers: full }
}

// ---- deliveries

export function message(position: number, text = `message ${position}`, by: Principal = ALICE): Message {
  return { ...accepted(position, by), kind: 'MESSAGE', text, policy: 'STEER' }
}

/** `openTurnId`: the turn that was open when it was accepted. */
export function cancel(position: number, change: Partial<CancelContent> & Partial<Pick<Delivery, 'openTurnId'>> = {}): Delivery {
  return { ...accepted(position, ALICE), kind: 'CANCEL', turnId: null, dropQueued: false, ...change }
}

export function end(position: number): Delivery {
  return { ...accepted(position, ALICE), kind: 'END', reason: null }
}

export function delivery(position: number, content: DeliveryContent, openTurnId: Delivery['openTurnId']): Delivery {
  return { ...accepted(position, ALICE), ...content, openTurnId }
}

function accepted(position: number, by: Principal) {
  return { id: storedId('dlv', `dlv_${position}`), position, by, openTurnId: null, acceptedAt: NOW - 100 }
}

// ---- outcomes

export function answered(text: string, calls: readonly RequestedCall[] = [], change: Partial<ModelAnswered> = {}): ModelAnswered {
  const blocks = text === '' ? [] : [{ id: storedId('blk', 'blk_given'), kind: 'text' as const, text }]
  return {
    kind: 'model-answered',
    attempt: 1,
    blocks,
    calls,
    finishReason: calls.length > 0 ? 'TOOL_CALLS' : 'STOP',
    usage: null,
    ...change,
  }
}

export function asked(name: string, change: Partial<RequestedCall> = {}): RequestedCall {
  const id = storedId('call', `call_${name}`)
  return { id, name, label: null, input: {}, rawInput: null, refusal: null, ask: null, idempotent: false, sequential: false, ...change }
}

export function failed(code: string, change: Partial<ModelFailed> & { readonly retryable?: boolean } = {}): ModelFailed {
  const { retryable = true, ...rest } = change
  return { kind: 'model-failed', attempt: 1, failure: { code, message: `provider: ${code}`, retryable }, retryAfterMs: null, ...rest }
}

export function ended(name: string, change: Partial<ToolEnded> = {}): ToolEnded {
  return { kind: 'tool-ended', callId: storedId('call', `call_${name}`), status: 'COMPLETED', result: resultOf(name), ...change }
}
