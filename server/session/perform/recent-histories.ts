/**
 * The histories of sessions that this process drove a moment ago, so that their next turn need not read them again. One for a process.
 *
 * K1 What is handed out is what the database holds: it was put away at a revision, and is given for that one alone. A commit of another
 *    worker in between has made it another.
 * K2 A session at rest costs no memory in the long run: after a while its history is dropped, and before that when all of them together
 *    pass a number of bytes; then the one that rests longest goes first.
 */
import type { Clock } from '../../clock.js'
import type { Json } from '../../errors.js'
import type { SessionId } from '../../ids.js'
import type { HistoryItem } from '../history.js'
import type { Session } from '../session.js'

/** A history in memory; whoever holds it may append to it. */
export interface LoadedHistory {
  readonly epoch: number
  readonly items: HistoryItem[]
  /** Everything before it was found valid and complete. */
  validTo: number
  /** What the first `measured` items take, about. */
  bytes: number
  measured: number
}

export interface RecentHistories {
  /** The history of a session that was just claimed, if it is here and the session is what it was. It is the caller's from now on. */
  take(claimed: Session): LoadedHistory | null
  /** Keeps the history of a session that rests from now on; the caller has no more to do with it. */
  put(resting: Session, history: LoadedHistory): void
  /** About the memory that is held, in bytes. */
  readonly bytes: number
  /** Drops all of it; no timer is left. */
  clear(): void
}

export interface RecentHistoriesOptions {
  readonly clock: Clock
  /** Of all histories together. Default: 32 MiB. */
  readonly maxBytes?: number
  /** How long one is kept. Default: a minute. */
  readonly maxRestMs?: number
}

export function createRecentHistories(options: RecentHistoriesOptions): RecentHistories {
  return new Shelf(options)
}

interface Kept {
  readonly revision: number
  readonly history: LoadedHistory
  readonly since: number
}

class Shelf implements RecentHistories {
  readonly #clock: Clock
  readonly #maxBytes: number
  readonly #maxRestMs: number
  /** In the order in which they came to rest. */
  readonly #kept = new Map<SessionId, Kept>()
  #bytes = 0
  #cancelTimer: (() => void) | null = null

  constructor({ clock, maxBytes = 32 * 1024 * 1024, maxRestMs = 60_000 }: RecentHistoriesOptions) {
    this.#clock = clock
    this.#maxBytes = maxBytes
    this.#maxRestMs = maxRestMs
  }

  get bytes(): number {
    return this.#bytes
  }

  take({ facts, revision, checkpoint }: Session): LoadedHistory | null {
    const kept = this.#drop(facts.id)
    if (kept?.revision !== revision) return null
    const { history } = kept
    return history.epoch === checkpoint.historyEpoch && history.items.length === checkpoint.historyLength ? history : null
  }

  put({ facts, revision }: Session, history: LoadedHistory): void {
    this.#drop(facts.id)
    measure(history)
    if (history.bytes > this.#maxBytes) return
    this.#kept.set(facts.id, { revision, history, since: this.#clock.monotonic() })
    this.#bytes += history.bytes
    for (const id of this.#kept.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.#drop(id)
    }
    if (this.#cancelTimer === null) this.#setTimer(this.#maxRestMs)
  }

  clear(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    this.#kept.clear()
    this.#bytes = 0
  }

  #drop(id: SessionId): Kept | undefined {
    const kept = this.#kept.get(id)
    if (kept === undefined) return undefined
    this.#kept.delete(id)
    this.#bytes -= kept.history.bytes
    return kept
  }

  #setTimer(delayMs: number): void {
    this.#cancelTimer = this.#clock.after(delayMs, () => {
      this.#cancelTimer = null
      this.#dropOld()
    })
  }

  #dropOld(): void {
    const now = this.#clock.monotonic()
    for (const [id, { since }] of this.#kept) {
      const leftMs = since + this.#maxRestMs - now
      if (leftMs > 0) {
        this.#setTimer(leftMs)
        return
      }
      this.#drop(id)
    }
  }
}

/** An object and its keys; a letter at its widest. */
const BYTES_PER_ITEM = 200
const BYTES_PER_LETTER = 2

function measure(history: LoadedHistory): void {
  for (; history.measured < history.items.length; history.measured += 1) {
    const item = history.items[history.measured]
    if (item !== undefined) history.bytes += bytesOf(item)
  }
}

function bytesOf(item: HistoryItem): number {
  const inputs = item.role === 'assistant' ? item.calls.reduce((sum, { input }) => sum + BYTES_PER_ITEM + lengthOf(input), 0) : 0
  return BYTES_PER_ITEM + BYTES_PER_LETTER * item.text.length + inputs
}

function lengthOf(input: Json): number {
  return BYTES_PER_LETTER * JSON.stringify(input).length
}
