/** Sessions, deliveries and commits to test a store with. Every session has an agent of its own, so that sweeps see only it. */
import type { Clock } from '../../server/clock.js'
import { createIdSource, type CallId, type IdSource, type SessionId, type StepId, type TurnId } from '../../server/ids.js'
import type { Checkpoint, OpenTurn } from '../../server/session/checkpoint.js'
import type { CallRow, ClosedTurn, Commit, SessionChange, TurnRow } from '../../server/session/commit.js'
import type { DeliveryContent } from '../../server/session/deliveries.js'
import type { NewEvent, StreamedEvent } from '../../server/session/events.js'
import type { IdempotencyKey, NewDelivery, NewSession } from '../../server/session/acceptance.js'
import type { SessionStore } from '../../server/session/ports.js'
import type { Principal } from '../../server/session/principal.js'
import { NO_ANSWER, askApproval, type Request } from '../../server/session/requests.js'
import type { Session } from '../../server/session/session.js'
import { NO_USAGE } from '../../server/session/usage.js'

export const TTL_MS = 60_000
/** A lease of this length has run out at once. */
export const EXPIRED_MS = -1
export const ALICE: Principal = { tenant: 'acme', id: 'alice', kind: 'USER', name: 'Alice' }
export const BOB: Principal = { tenant: 'acme', id: 'bob', kind: 'SERVICE' }

export interface StoreUnderTest {
  readonly store: SessionStore
  /** What judges the store's leases, or a clock that agrees with it. */
  readonly clock: Clock
  close(): Promise<void>
}

export const ids: IdSource = createIdSource()

export function newSession(clock: Clock, more: Partial<NewSession> = {}): NewSession {
  const id = ids.next('ses')
  return {
    id,
    agent: `agent-${id}`,
    mode: 'CONVERSATION',
    idleTimeoutMs: null,
    owner: ALICE,
    title: null,
    metadata: {},
    addresses: [],
    deployment: 'test',
    history: [],
    createdAt: clock.now(),
    firstDelivery: null,
    idempotency: null,
    ...more,
  }
}

export function newDelivery(clock: Clock, content: DeliveryContent, by: Principal = ALICE): NewDelivery {
  return { id: ids.next('dlv'), by, content, acceptedAt: clock.now() }
}

export function message(clock: Clock, text = 'hello', by: Principal = ALICE): NewDelivery {
  return newDelivery(clock, { kind: 'MESSAGE', text, policy: 'STEER' }, by)
}

export function cancel(clock: Clock): NewDelivery {
  return newDelivery(clock, { kind: 'CANCEL', turnId: null, dropQueued: false })
}

export function newKey(more: Partial<IdempotencyKey> = {}): IdempotencyKey {
  return { by: ALICE, key: ids.next('req'), hash: 'asked', ...more }
}

/** A session with one message, held by a worker. */
export async function claimNew({ store, clock }: StoreUnderTest, more: Partial<NewSession> = {}, ttlMs = TTL_MS): Promise<Session> {
  const made = newSession(clock, { firstDelivery: message(clock), ...more })
  await store.createSession(made)
  return claimDue(store, made.id, made.agent, ttlMs)
}

export async function claimDue(store: SessionStore, id: SessionId, agent: string, ttlMs = TTL_MS): Promise<Session> {
  const session = await store.claim(id, { owner: ids.next('wrk'), ttlMs, agents: ['another', agent] })
  if (session === 'not-due') throw new Error(`session ${id} is not due`)
  return session
}

export function newCommit(session: Session, more: Partial<Commit> = {}): Commit {
  return {
    checkpoint: session.checkpoint,
    guard: 'none',
    events: [],
    history: [],
    historyFrom: { epoch: session.checkpoint.historyEpoch, position: session.checkpoint.historyLength },
    newEpoch: null,
    openedTurn: null,
    closedTurn: null,
    turnStatus: null,
    openedStep: null,
    closedStep: null,
    newCalls: [],
    changedCalls: [],
    newRequests: [],
    settledRequests: [],
    grants: [],
    settled: [],
    state: null,
    session: null,
    park: null,
    ...more,
  }
}

/** Settles what is there and parks the session between turns. */
export function parkingCommit(session: Session, clock: Clock, more: Partial<Commit> = {}): Commit {
  return newCommit(session, {
    guard: 'inbox',
    checkpoint: { ...session.checkpoint, phase: { kind: 'idle' } },
    settled: session.deliveries.map(({ id }) => ({ id, status: 'APPLIED', turnId: null, rejection: null, at: clock.now() })),
    session: statusChange('IDLE', clock),
    park: { wakeAt: null },
    ...more,
  })
}

export function endingCommit(session: Session, clock: Clock, more: Partial<Commit> = {}): Commit {
  return parkingCommit(session, clock, {
    checkpoint: { ...session.checkpoint, phase: { kind: 'ended', status: 'COMPLETED', reason: 'ENDED' } },
    session: { ...statusChange('COMPLETED', clock), end: { reason: 'ENDED', error: null } },
    events: [{ ...envelope(clock), type: 'SESSION_COMPLETED', data: { reason: 'ENDED', error: null, usage: NO_USAGE } }],
    park: null,
    ...more,
  })
}

export function statusChange(status: SessionChange['status'], clock: Clock): SessionChange {
  return { status, usage: NO_USAGE, at: clock.now(), expiresAt: null, end: null }
}

export function openTurn(clock: Clock, more: Partial<OpenTurn> = {}): OpenTurn {
  const startedAt = clock.now()
  const turn = { id: ids.next('turn'), number: 1, principal: ALICE, startedAt, activeMs: 0, activeSince: startedAt }
  return { ...turn, steps: 1, calls: 0, takeovers: 0, usage: NO_USAGE, ...more }
}

export function modelling(checkpoint: Checkpoint, turn: OpenTurn, stepId: StepId): Checkpoint {
  const step = { id: stepId, index: 0, attempt: 1, epoch: 1, failures: 0, retryAt: null, startedAt: turn.startedAt }
  return { ...checkpoint, turns: turn.number, phase: { kind: 'modelling', turn, step } }
}

export function acting(checkpoint: Checkpoint, turn: OpenTurn, stepId: StepId, calls: readonly CallRow[]): Checkpoint {
  const open = calls.map(({ id, name }) => ({ id, name, idempotent: false, sequential: false, state: 'requested' as const }))
  return {
    ...checkpoint,
    turns: turn.number,
    phase: { kind: 'acting', turn, step: { id: stepId, index: 0, attempt: 1, calls: open }, stopping: null },
  }
}

export function turnRow(turn: OpenTurn): TurnRow {
  return { id: turn.id, number: turn.number, trigger: 'MESSAGE', principal: turn.principal, userInput: 'hello', startedAt: turn.startedAt }
}

export function closedTurn(id: TurnId, clock: Clock): ClosedTurn {
  return { id, status: 'CANCELLED', output: null, error: null, usage: NO_USAGE, activeMs: 12, endedAt: clock.now() }
}

export function callRow(turnId: TurnId, stepId: StepId, more: Partial<CallRow> = {}): CallRow {
  const call = { id: ids.next('call'), turnId, stepId, stepIndex: 0, order: 0, name: 'add', label: null, input: { a: 1 }, rawInput: null }
  return { ...call, status: 'REQUESTED', startedAt: null, result: null, ...more }
}

/** An approval that anybody whom the turn serves may give. */
export function newRequest(clock: Clock, turn: OpenTurn, more: Partial<Request> = {}): Request {
  const { expiresAfterMs: _, ...spec } = askApproval('Allow add?')
  return {
    ...spec,
    ...{ id: ids.next('req'), turnId: turn.id, callId: ids.next('call'), inputHash: 'hash', served: turn.principal },
    ...{ openedAt: clock.now(), openedAfter: 1, expiresAt: null },
    ...more,
  }
}

/** Yes to each of them. */
export function answersTo(clock: Clock, requests: readonly Pick<Request, 'id'>[], by: Principal = ALICE): NewDelivery {
  const answers = requests.map(({ id }) => ({ ...NO_ANSWER, requestId: id, decision: 'APPROVE' as const, reason: null }))
  return newDelivery(clock, { kind: 'ANSWERS', answers }, by)
}

function envelope(clock: Clock): Pick<NewEvent, 'at' | 'turnId' | 'stepIndex' | 'attempt'> {
  return { at: clock.now(), turnId: null, stepIndex: null, attempt: null }
}

export function waitingEvent(clock: Clock): NewEvent {
  return { ...envelope(clock), type: 'SESSION_WAITING', data: { usage: NO_USAGE } }
}

export function chunk(clock: Clock, text: string): StreamedEvent {
  return { ...envelope(clock), stepIndex: 0, attempt: 1, type: 'LLM_CHUNK', data: { blockId: ids.next('blk'), offset: 0, text } }
}

export function progress(clock: Clock, callId: CallId, output: string): StreamedEvent {
  return { ...envelope(clock), stepIndex: 0, attempt: 1, type: 'TOOL_CALL_PROGRESS', data: { callId, output } }
}
