import type { Publication } from './event-batch.js'

/** Publications that a reader has not come to yet, at most `maxEvents` events. Too many are forgotten: the log has them. */
export class LiveBuffer {
  readonly #maxEvents: number
  #waiting: Publication[] = []
  #size = 0

  constructor(maxEvents: number) {
    this.#maxEvents = maxEvents
  }

  add(publication: Publication): void {
    const size = publication.events.length
    if (this.#size + size > this.#maxEvents) this.clear()
    if (size > this.#maxEvents) return
    this.#waiting.push(publication)
    this.#size += size
  }

  /** The publication that goes on from `cursor`, if the next one does; what lies at or below it is dropped. */
  takeNext(cursor: number): Publication | null {
    for (;;) {
      const next = this.#waiting[0]
      if (next === undefined || next.first > cursor + 1) return null
      this.#waiting.shift()
      this.#size -= next.events.length
      if (next.last > cursor) return next
    }
  }

  clear(): void {
    this.#waiting = []
    this.#size = 0
  }
}
