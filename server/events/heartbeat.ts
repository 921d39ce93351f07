import type { Clock } from '../clock.js'

/** Tells when nothing was sent for a while. One timer, which is not moved by what is sent: it looks again when it fires. */
export class Heartbeat {
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #onDue: () => void
  #sentAt: number
  #isDue = false
  #cancel: () => void

  constructor(clock: Clock, everyMs: number, onDue: () => void) {
    this.#clock = clock
    this.#everyMs = everyMs
    this.#onDue = onDue
    this.#sentAt = clock.monotonic()
    this.#cancel = this.#arm(everyMs)
  }

  get isDue(): boolean {
    return this.#isDue
  }

  sent(): void {
    this.#sentAt = this.#clock.monotonic()
    this.#isDue = false
  }

  stop(): void {
    this.#cancel()
  }

  #arm(delayMs: number): () => void {
    return this.#clock.after(delayMs, () => {
      const leftMs = this.#everyMs - (this.#clock.monotonic() - this.#sentAt)
      this.#cancel = this.#arm(leftMs > 1 ? leftMs : this.#everyMs)
      if (leftMs > 1) return
      this.#isDue = true
      this.#onDue()
    })
  }
}
