/**
 * The sessions that may be due, first come first served, and those that a slot holds. In memory: all that the coordinator of a
 * single process needs, and what that of many processes hands out of Redis.
 *
 * Invariants:
 * - a session is ready at most once, and never ready while it is held;
 * - it has at most one holder, and only the holder's ticket gives it back;
 * - a wake is never lost: the session is handed out after it, or its holder is nudged and whoever owns the queue is told at the end;
 * - nobody waits while a session is ready.
 */
import type { Clock } from '../clock.js'
import type { SessionId } from '../ids.js'
import type { Ticket } from '../session/ports.js'

interface Hold {
  wokenMeanwhile: boolean
  nudge: (() => void) | null
}
interface DelayedWake {
  readonly dueAt: number
  readonly cancel: () => void
}
interface Waiter {
  readonly signal: AbortSignal
  readonly answer: (ticket: Ticket | null) => void
}

export interface ReadyQueueOptions {
  readonly clock: Clock
  /** Hears of callbacks that threw. */
  readonly onFault: (thrown: unknown) => void
  /** Called when a slot gives a session back; `wasWoken`: it was woken meanwhile and has to be handed out again. */
  readonly onGivenBack: (sessionId: SessionId, wasWoken: boolean) => void
}

export class ReadyQueue {
  readonly #options: ReadyQueueOptions
  readonly #ready = new Set<SessionId>()
  readonly #held = new Map<SessionId, Hold>()
  readonly #delayed = new Map<SessionId, DelayedWake>()
  readonly #waiting = new Set<Waiter>()
  readonly #heard = new WeakSet<AbortSignal>()
  #isClosed = false

  constructor(options: ReadyQueueOptions) {
    this.#options = options
  }

  /** Slots that wait. Nobody waits while a session is ready. */
  get waiting(): number {
    return this.#waiting.size
  }

  get held(): readonly SessionId[] {
    return [...this.#held.keys()]
  }

  isHeld(sessionId: SessionId): boolean {
    return this.#held.has(sessionId)
  }

  wake(sessionId: SessionId, delayMs: number): void {
    if (this.#isClosed) return
    if (delayMs > 0) this.#wakeLater(sessionId, delayMs)
    else this.#wakeNow(sessionId)
  }

  /** Takes away what is ready, and what would be later, for another queue. */
  withdraw(): readonly { readonly sessionId: SessionId; readonly delayMs: number }[] {
    const now = this.#options.clock.monotonic()
    const ready = [...this.#ready].map((sessionId) => ({ sessionId, delayMs: 0 }))
    const delayed = [...this.#delayed].map(([sessionId, { dueAt }]) => ({ sessionId, delayMs: Math.max(0, dueAt - now) }))
    for (const { cancel } of this.#delayed.values()) cancel()
    for (const state of [this.#ready, this.#delayed]) state.clear()
    return [...ready, ...delayed]
  }

  take(signal: AbortSignal): Promise<Ticket | null> {
    if (this.#isClosed || signal.aborted) return Promise.resolve(null)
    this.#listen(signal)
    return new Promise((answer) => {
      this.#waiting.add({ signal, answer })
      this.#handOut()
    })
  }

  /** Whoever waits gets null; no timer is left. */
  close(): void {
    this.#isClosed = true
    for (const { cancel } of this.#delayed.values()) cancel()
    for (const { answer } of this.#waiting) answer(null)
    for (const state of [this.#ready, this.#held, this.#delayed, this.#waiting]) state.clear()
  }

  /** Once for each signal: slots wait with one and the same, again and again. */
  #listen(signal: AbortSignal): void {
    if (this.#heard.has(signal)) return
    this.#heard.add(signal)
    const leave = (): void => {
      for (const waiter of this.#waiting) {
        if (waiter.signal !== signal) continue
        this.#waiting.delete(waiter)
        waiter.answer(null)
      }
    }
    signal.addEventListener('abort', leave, { once: true })
  }

  #wakeNow(sessionId: SessionId): void {
    const hold = this.#held.get(sessionId)
    if (hold === undefined) {
      this.#ready.add(sessionId)
      this.#handOut()
      return
    }
    hold.wokenMeanwhile = true
    this.#nudge(hold)
  }

  #wakeLater(sessionId: SessionId, delayMs: number): void {
    const dueAt = this.#options.clock.monotonic() + delayMs
    const pending = this.#delayed.get(sessionId)
    if (pending !== undefined && pending.dueAt <= dueAt) return
    pending?.cancel()
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#delayed.delete(sessionId)
      this.#wakeNow(sessionId)
    })
    this.#delayed.set(sessionId, { dueAt, cancel })
  }

  #handOut(): void {
    for (const sessionId of this.#ready) {
      const [waiter] = this.#waiting
      if (waiter === undefined) return
      this.#waiting.delete(waiter)
      this.#ready.delete(sessionId)
      waiter.answer(this.#hold(sessionId))
    }
  }

  #hold(sessionId: SessionId): Ticket {
    const hold: Hold = { wokenMeanwhile: false, nudge: null }
    this.#held.set(sessionId, hold)
    return {
      sessionId,
      onNudge: (callback) => {
        hold.nudge = callback
        if (hold.wokenMeanwhile) this.#nudge(hold)
      },
      done: () => {
        hold.nudge = null
        if (this.#held.get(sessionId) !== hold) return
        this.#held.delete(sessionId)
        if (!this.#isClosed) this.#options.onGivenBack(sessionId, hold.wokenMeanwhile)
      },
    }
  }

  #nudge({ nudge }: Hold): void {
    try {
      nudge?.()
    } catch (thrown) {
      this.#options.onFault(thrown)
    }
  }
}
