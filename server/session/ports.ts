/** What the heart needs of the world. Each port has one conformance suite in test/conformance, run against every adapter. */
import type { Json } from '../errors.js'
import type { SessionId, WorkerId } from '../ids.js'
import type {
  ClaimAddressOutcome,
  CreateOutcome,
  DeliverOutcome,
  Duplicate,
  IdempotencyKey,
  NewAddress,
  NewDelivery,
  NewSession,
} from './acceptance.js'
import type { Commit } from './commit.js'
import type { Delivery } from './deliveries.js'
import type { RecordedEvent, StreamedEvent } from './events.js'
import type { HistoryItem } from './history.js'
import type { Principal } from './principal.js'
import type { Lease, Session } from './session.js'

// ---- storage

/** `moved`: something in `arrived` came that the commit's guard forbids to overlook; nothing was written. */
export type CommitOutcome =
  | { readonly kind: 'committed'; readonly events: readonly RecordedEvent[] }
  | { readonly kind: 'moved'; readonly arrived: readonly Delivery[] }
  | { readonly kind: 'fenced' }
/** `busy`: its row was locked; keep the events and try again. */
export type AppendOutcome =
  { readonly kind: 'appended'; readonly events: readonly RecordedEvent[] } | { readonly kind: 'busy' } | { readonly kind: 'fenced' }

export interface SessionStore {
  /** One transaction. Racing callers with one key, or one address, all learn of the winner. */
  createSession(session: NewSession): Promise<CreateOutcome>
  /**
   * Puts a delivery into the session's inbox, under its row lock, and moves a session at rest to RUNNING for a message. The key is looked
   * up first, whatever the target. Answers reserve their requests, all of them or none.
   */
  deliver(sessionId: SessionId, delivery: NewDelivery, idempotency: IdempotencyKey | null): Promise<DeliverOutcome>
  /** The first effect of a key; null when it was never used. */
  findKey(idempotency: IdempotencyKey): Promise<Duplicate | { readonly kind: 'mismatch' } | null>
  /** The open session that holds `channel:value` in this tenant. */
  findAddress(tenant: string, address: string): Promise<SessionId | null>
  /** The session holds the address from now on. Under its row lock; racing sessions learn of the one that got it. */
  claimAddress(address: NewAddress): Promise<ClaimAddressOutcome>
  /** Nothing when the session does not hold it. */
  releaseAddress(sessionId: SessionId, address: string): Promise<void>
  /**
   * Takes a due session whose lease is free, and reads it. `not-due`: held by another, ended, nothing to do, or another deployment's.
   * Counts claims until the next commit; from the second on, a lease that runs out makes the session due only after a pause.
   */
  claim(sessionId: SessionId, options: ClaimOptions): Promise<Session | 'not-due'>
  /** Deliveries after a position, unsettled ones only. */
  loadDeliveries(sessionId: SessionId, after: number): Promise<readonly Delivery[]>
  loadHistory(sessionId: SessionId, epoch: number): Promise<readonly HistoryItem[]>
  /** Whether somebody has allowed the tool to this person for the rest of the session. */
  hasGrant(sessionId: SessionId, tool: string, to: Principal): Promise<boolean>
  /** Null: nothing was kept under this key. */
  loadMemo(sessionId: SessionId, key: string): Promise<{ readonly value: Json } | null>
  /** Keeps a value once, under a lease that holds. `there`: one was kept before, and stays. */
  saveMemo(lease: Lease, memo: { readonly key: string; readonly value: Json; readonly at: number }): Promise<'kept' | 'there' | 'fenced'>
  /**
   * Applies `commit` to `session`, fenced by its epoch, its revision and the commit's guard. Repeating it after a lost reply is safe and
   * tells what became of it. Extends the lease by `ttlMs`, or gives it back when the commit parks.
   */
  commit(session: Session, commit: Commit, ttlMs: number): Promise<CommitOutcome>
  /** Streamed events of many sessions in one statement; extends their leases. A session is named once. */
  appendEvents(batches: readonly AppendBatch[], ttlMs: number): Promise<ReadonlyMap<SessionId, AppendOutcome>>
  /** Extends the leases that still hold; what is missing in the answer is lost. */
  renew(leases: readonly Lease[], ttlMs: number): Promise<ReadonlyMap<SessionId, LeaseNews>>
  /** Gives leases back. `unused`: as if they had never been claimed, due at once. `fault`: due after a pause (CLAIM_PAUSE). */
  release(leases: readonly Lease[], why: ReleaseReason): Promise<void>
  /** Frees every lease; for a process that knows it is alone, at its start. Answers how many were open. */
  releaseAll(): Promise<number>
  /** Due sessions with a free lease that these agents can drive, oldest first. */
  sweep(options: { readonly agents: readonly string[]; readonly limit: number }): Promise<readonly SessionId[]>
  /** Events after a position, in order, at most `limit`. */
  readEvents(sessionId: SessionId, after: number, limit: number): Promise<readonly RecordedEvent[]>
  /** The newest position of each log, and whether the session has ended. Unknown sessions are missing. */
  readTails(sessionIds: readonly SessionId[]): Promise<ReadonlyMap<SessionId, LogTail>>
}
export interface ClaimOptions {
  readonly owner: WorkerId
  readonly ttlMs: number
  /** Names of the agents that this process serves; a session of another agent is not claimed. */
  readonly agents: readonly string[]
}
/** `unused`: the session could not be driven here, through no fault of its own. `fault`: its driver failed. */
export type ReleaseReason = 'unused' | 'fault'
export interface AppendBatch {
  readonly lease: Lease
  readonly events: readonly StreamedEvent[]
}
export interface LeaseNews {
  readonly inbox: number
  readonly control: number
}
export interface LogTail {
  readonly position: number
  readonly ended: boolean
}

// ---- coordination: accelerators only, it holds no truth (R5)

export interface Coordinator {
  /** Says that a session may be due, now or after a delay: hands it to a slot, or nudges the one that drives it. */
  wake(sessionId: SessionId, delayMs?: number): void
  /** Waits for the next session that may be due. Never hands out one that is held. Null when the signal aborts. */
  take(signal: AbortSignal): Promise<Ticket | null>
  /** Tells live subscribers of events that were written. */
  publish(sessionId: SessionId, events: readonly RecordedEvent[]): void
  /** Calls back for each later publish, until the answer is called. Resolves once no later publish can be missed. */
  subscribe(sessionId: SessionId, callback: (events: readonly RecordedEvent[]) => void): Promise<() => void>
  /** Tells that what a list shows of a session may have changed. */
  announce(sessionId: SessionId): void
  onAnnounce(callback: (sessionId: SessionId) => void): () => void
  /** Calls back when wakes or publishes may have been lost: who follows looks into the database at once (R5). */
  onGap(callback: () => void): () => void
  /** Whether it works. While it does not, due sessions and new events are found in the database. */
  health(): CoordinatorHealth
  /** The processes that are there, as they say of themselves; empty while it does not work. */
  processes(): Promise<readonly ProcessPresence[]>
  close(): Promise<void>
}
export interface CoordinatorHealth {
  readonly kind: 'local' | 'redis'
  /** Why it does not work, for people; null: it does. */
  readonly fault: string | null
}
export interface ProcessPresence {
  readonly id: WorkerId
  readonly role: 'all' | 'api' | 'worker'
  readonly deployment: string
  readonly host: string
  readonly pid: number
  readonly startedAt: number
  /** Sessions that it can drive at the same time; 0: it drives none. */
  readonly slots: number
}
/** A session held by a slot. */
export interface Ticket {
  readonly sessionId: SessionId
  /** Calls back when the session is woken while it is held. */
  onNudge(callback: () => void): void
  /** Gives it back; a wake that came meanwhile makes it ready again. */
  done(): void
}

// ---- streamed events

/** Gathers the streamed events of one session between commits and writes them in the background. */
export interface EventStream {
  /** Never waits, never throws. */
  emit(event: StreamedEvent): void
  /** Resolves when there is room: a slow database slows the model's stream down. */
  ready(): Promise<void>
  /**
   * Waits for the write in flight and hands over what is not written yet, for the commit to carry. From then on nothing of this stream is
   * written, what is emitted gathers, until `resume`: there is one writer at a time.
   */
  take(): Promise<readonly StreamedEvent[]>
  /** After the commit: goes on. `unwritten` is what `take` gave when the commit was refused; it goes back in front. */
  resume(unwritten: readonly StreamedEvent[]): void
  /** Drops what is pending; nothing is written for this lease any more. */
  close(): void
}

// ---- the process log, for operators

export interface Log {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  /** An error goes into the field `err`. */
  error(message: string, fields?: LogFields): void
  /** A log that adds these fields to every line. */
  with(fields: LogFields): Log
}
export type LogFields = Readonly<Record<string, unknown>>
