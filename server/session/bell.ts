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
}
