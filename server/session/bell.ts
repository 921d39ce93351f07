import type { Clock } from '../clock.js'

/** Rings once for whoever waits, or for the next one who does: several rings before anybody waits are one. */
export class Bell {
  #rung = false
  #wake: (() => void) | null = null

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

  /** The same, but no longer than to a moment of the wall clock; null or Infinity: as long as it takes. */
  async waitUntil(at: number | null, clock: Clock): Promise<void> {
    const cancel = at === null || at === Infinity ? () => undefined : clock.after(at - clock.now(), () => this.ring())
    await this.wait()
    cancel()
  }

  /** Rings when one of the signals aborts, until the answer is called. */
  ringOn(signals: readonly AbortSignal[]): () => void {
    const ring = (): void => this.ring()
    for (const signal of signals) signal.addEventListener('abort', ring)
    return () => {
      for (const signal of signals) signal.removeEventListener('abort', ring)
    }
  }
}
