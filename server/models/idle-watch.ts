/** Ends a call that has fallen silent. It measures only the time spent waiting for the server, never that of a slow reader. */
import type { Clock } from '../clock.js'

/** A server that only sends comments keeps the connection, but is not working: so many times the idle timeout is enough. */
const PATIENCE = 5

export class IdleWatch {
  readonly #clock: Clock
  readonly #limitMs: number
  readonly #controller = new AbortController()
  readonly #outer: AbortSignal
  readonly #onAbort = (): void => {
    this.#controller.abort(this.#outer.reason)
  }
  #cancelTimer: () => void
  #waitingSince: number | null = null
  #withoutProgressMs = 0
  #expired = false

  constructor(clock: Clock, limitMs: number, outer: AbortSignal) {
    this.#clock = clock
    this.#limitMs = limitMs
    this.#outer = outer
    outer.addEventListener('abort', this.#onAbort, { once: true })
    this.#cancelTimer = clock.after(limitMs, this.#onTimer)
  }

  /** Aborts when the outer signal does, when the server has been silent for too long, and at `stop`. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }
  /** True when it was silence that ended the call. */
  get expired(): boolean {
    return this.#expired
  }

  /** Counts the time until `work` settles as waiting for the server. */
  async during<T>(work: Promise<T>): Promise<T> {
    const since = this.#clock.monotonic()
    this.#waitingSince = since
    const result = await work
    this.#waitingSince = null
    this.#withoutProgressMs += this.#clock.monotonic() - since
    if (this.#withoutProgressMs > this.#limitMs * PATIENCE) this.#expire()
    this.#controller.signal.throwIfAborted()
    return result
  }

  /** An event came, not only bytes. */
  progress(): void {
    this.#withoutProgressMs = 0
  }

  /** Lets go of the timer and the outer signal, and closes the connection unless its response was read to the end. */
  stop(): void {
    this.#cancelTimer()
    this.#outer.removeEventListener('abort', this.#onAbort)
    this.#controller.abort()
  }

  readonly #onTimer = (): void => {
    const waitedMs = this.#waitingSince === null ? 0 : this.#clock.monotonic() - this.#waitingSince
    if (waitedMs >= this.#limitMs) this.#expire()
    else this.#cancelTimer = this.#clock.after(Math.ceil(this.#limitMs - waitedMs), this.#onTimer)
  }

  #expire(): void {
    this.#expired = true
    this.#controller.abort()
  }
}
