/** A subscriber of one session, over a connection of its own: notes every event that it is given, and when. */
import { setMaxListeners } from 'node:events'
import type { Session, SessionEvent } from '../../sdk/index.js'

export interface Sighting {
  readonly event: SessionEvent
  readonly position: number
  /** When it came; on this machine's clock, as are the times of the servers' events. */
  readonly at: number
}
export interface UntilOptions {
  /** Only events behind this position. */
  readonly after?: number
  readonly withinMs?: number
}

const PATIENCE_MS = 30_000

export class Witness {
  readonly seen: Sighting[] = []
  /** Resolves at the end of the session; rejects when the stream ends otherwise. */
  readonly ended: Promise<void>
  readonly #waiting = new Set<() => void>()
  #fault: unknown = null

  constructor(session: Session, signal: AbortSignal) {
    // Each subscription of a test listens to its one signal.
    setMaxListeners(0, signal)
    this.ended = this.#follow(session, signal)
    this.ended.catch((thrown: unknown) => {
      this.#fault = thrown
      for (const look of this.#waiting) look()
    })
  }

  async #follow(session: Session, signal: AbortSignal): Promise<void> {
    for await (const event of session.events({ signal })) {
      this.seen.push({ event, position: Number(event.cursor), at: Date.now() })
      for (const look of this.#waiting) look()
    }
  }

  /** The first event that fits, as soon as it was seen. */
  until(what: SessionEvent['type'] | ((event: SessionEvent) => boolean), options: UntilOptions = {}): Promise<Sighting> {
    const { after = 0, withinMs = PATIENCE_MS } = options
    const fits = typeof what === 'function' ? what : (event: SessionEvent): boolean => event.type === what
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = this.seen.find(({ event, position }) => position > after && fits(event))
        if (found === undefined && this.#fault === null) return
        stop()
        if (found === undefined) reject(new Error(`${String(what)} was not seen: the stream broke`, { cause: this.#fault }))
        else resolve(found)
      }
      const timer = setTimeout(() => {
        stop()
        const types = this.seen.map(({ event }) => event.type).slice(-20)
        reject(new Error(`not seen within ${withinMs} ms after ${after}: ${String(what)}; seen: ${types.join(' ')}`))
      }, withinMs)
      const stop = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(look)
      }
      this.#waiting.add(look)
      look()
    })
  }

  /** What it saw, to be compared with the log. */
  get told(): readonly string[] {
    return this.seen.map(({ event, position }) => `${position} ${event.type}`)
  }
}
