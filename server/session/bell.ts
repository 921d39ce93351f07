import type { Clock } from '../clock.js'

/** Rings once for whoever waits, or for the next one who does: several rings before anybody waits are one. */
export class Bell {
  #rung = false
  #wake: (() => void) | null = null
  #timer: { readonly at: number; readonly cancel: () => void } | null = null

  ring(): void {
    this.#rung = true
    this.#wake?.()
  }

  /** Resolves at the next ring, or at once when it rang since the last wait. One waiter at a time. */
  async wait(): Promise<void> {
    if (!this.#rung) await new Promise<void>((resolve) => (this.#wake = resolve))
    this.#rung = false
    this.#wake = null
  }

  /**
   * The same, but no longer than to a moment of the wall clock; null or Infinity: as long as it takes. Whoever waits again and again is
   * mostly waiting for the same moment, so the timer stays from one wait to the next.
   */
  waitUntil(at: number | null, clock: Clock): Promise<void> {
    if (this.#timer?.at !== at) this.#setTimer(at, clock)
    return this.wait()
  }

  /** Rings when one of the signals aborts, until the answer is called; then it is silent altogether. */
  ringOn(signals: readonly AbortSignal[]): () => void {
    const ring = (): void => this.ring()
    for (const signal of signals) signal.addEventListener('abort', ring)
    return () => {
      for (const signal of signals) signal.removeEventListener('abort', ring)
      this.#timer?.cancel()
    }
  }

  #setTimer(at: number | null, clock: Clock): void {
    this.#timer?.cancel()
    this.#timer = null
    if (at === null || at === Infinity) return
    const cancel = clock.after(at - clock.now(), () => {
      this.#timer = null
      this.ring()
    })
    this.#timer = { at, cancel }
  }
}
