/**
 * The logs of sessions in memory: the part of the store that streamed events and subscribers need, with answers that a test can
 * script and hold back.
 */
import { storedId, type SessionId } from '../../server/ids.js'
import type { NewEvent, RecordedEvent } from '../../server/session/events.js'
import type { AppendBatch, AppendOutcome, LogTail, SessionStore } from '../../server/session/ports.js'
import type { Lease } from '../../server/session/session.js'

/** What an append does; for a session that is not named it is written. */
export type Answer = 'throw' | Readonly<Record<string, 'busy' | 'fenced' | 'silent'>>

export interface LogStore extends Pick<SessionStore, 'appendEvents' | 'readEvents' | 'readTails'> {
  /** What was asked, call by call. */
  readonly appends: AppendBatch[][]
  readonly reads: { readonly sessionId: SessionId; readonly after: number }[]
  readonly tailReads: (readonly SessionId[])[]
  /** Answers of the next appends, in order; then everything is written. */
  readonly answers: Answer[]
  /** Decides for each append, when no answer is scripted. */
  decide: (batches: readonly AppendBatch[]) => Answer
  /** True: reads throw. */
  failsReads: boolean
  log(sessionId: SessionId): readonly RecordedEvent[]
  /** One write, as a commit does it. */
  write(sessionId: SessionId, events: readonly NewEvent[]): readonly RecordedEvent[]
  /** Takes rows away, as the clean-up of streamed rows does. */
  remove(sessionId: SessionId, isGone: (event: RecordedEvent) => boolean): void
  /** Calls that begin from now on wait until the answer is called. */
  hold(): () => void
}

class InMemoryLogs implements LogStore {
  readonly appends: AppendBatch[][] = []
  readonly reads: { sessionId: SessionId; after: number }[] = []
  readonly tailReads: (readonly SessionId[])[] = []
  readonly answers: Answer[] = []
  failsReads = false
  decide: (batches: readonly AppendBatch[]) => Answer = () => ({})
  readonly #logs = new Map<SessionId, RecordedEvent[]>()
  readonly #tails = new Map<SessionId, number>()
  #gate: Promise<void> = Promise.resolve()

  log(sessionId: SessionId): readonly RecordedEvent[] {
    return this.#logs.get(sessionId) ?? []
  }

  write(sessionId: SessionId, events: readonly NewEvent[]): readonly RecordedEvent[] {
    const tail = this.#tails.get(sessionId) ?? 0
    const recorded = events.map((event, index): RecordedEvent => {
      return { ...event, sessionId, position: tail + 1 + index, endsWrite: index === events.length - 1 }
    })
    this.#logs.set(sessionId, [...this.log(sessionId), ...recorded])
    this.#tails.set(sessionId, tail + recorded.length)
    return recorded
  }

  remove(sessionId: SessionId, isGone: (event: RecordedEvent) => boolean): void {
    this.#logs.set(
      sessionId,
      this.log(sessionId).filter((event) => !isGone(event)),
    )
  }

  hold(): () => void {
    let release = (): void => undefined
    this.#gate = new Promise((resolve) => (release = resolve))
    return () => {
      this.#gate = Promise.resolve()
      release()
    }
  }

  async appendEvents(batches: readonly AppendBatch[]): Promise<ReadonlyMap<SessionId, AppendOutcome>> {
    this.appends.push([...batches])
    await this.#gate
    const answer = this.answers.shift() ?? this.decide(batches)
    if (answer === 'throw') throw new Error('the database is away')
    const outcomes = new Map<SessionId, AppendOutcome>()
    for (const { lease, events } of batches) {
      const kind = answer[lease.sessionId] ?? 'appended'
      if (kind === 'appended') outcomes.set(lease.sessionId, { kind, events: this.write(lease.sessionId, events) })
      else if (kind !== 'silent') outcomes.set(lease.sessionId, { kind })
    }
    return outcomes
  }

  async readEvents(sessionId: SessionId, after: number, limit: number): Promise<readonly RecordedEvent[]> {
    this.reads.push({ sessionId, after })
    await this.#gate
    if (this.failsReads) throw new Error('the database is away')
    const log = this.log(sessionId)
    const start = log.findIndex((event) => event.position > after)
    return start === -1 ? [] : log.slice(start, start + limit)
  }

  async readTails(sessionIds: readonly SessionId[]): Promise<ReadonlyMap<SessionId, LogTail>> {
    this.tailReads.push(sessionIds)
    await this.#gate
    if (this.failsReads) throw new Error('the database is away')
    const tails = new Map<SessionId, LogTail>()
    for (const sessionId of sessionIds) {
      const position = this.#tails.get(sessionId)
      const last = this.log(sessionId).at(-1)
      if (position !== undefined) tails.set(sessionId, { position, ended: last?.type === 'SESSION_COMPLETED' })
    }
    return tails
  }
}

export function createLogStore(): LogStore {
  return new InMemoryLogs()
}

export function sessionNamed(name: string): SessionId {
  return storedId('ses', `ses_${name}`)
}

export function leaseOf(sessionId: SessionId, epoch = 1): Lease {
  return { sessionId, owner: storedId('wrk', 'wrk_test'), epoch }
}
