/** Batches of a log as they can be had: for whoever asks again when there is news, or for a loop that waits. */
import type { EventBatch } from './event-batch.js'

/** `later`: nothing can be had now. `end`: nothing follows any more. */
export type Taken = EventBatch | 'later' | 'end'

export interface BatchReader {
  /**
   * The next batch, at once. Nothing happens before the first call. Throws PerdureError `SHUTTING_DOWN`, again and again, when the feed
   * was closed before the end was reached.
   */
  take(): Taken
  /**
   * After `later` it calls back as soon as it is worth asking again, maybe more often. It may be in the middle of a publish: the callback
   * neither takes nor throws. A second callback takes the place of the first.
   */
  whenReady(callback: () => void): void
  /** Nothing follows. Repeating it does nothing. */
  finish(): void
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** The batches one after the other. Calls that overlap are answered in order. */
export class BatchIterator implements AsyncIterableIterator<EventBatch, undefined> {
  readonly #reader: BatchReader
  #lastPull: Promise<unknown> = Promise.resolve()

  constructor(reader: BatchReader) {
    this.#reader = reader
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<EventBatch, undefined>> {
    const pull = this.#lastPull.then(() => this.#pull())
    this.#lastPull = pull
    return pull
  }

  return(): Promise<IteratorReturnResult<undefined>> {
    this.#reader.finish()
    return Promise.resolve(DONE)
  }

  async #pull(): Promise<IteratorResult<EventBatch, undefined>> {
    for (;;) {
      const taken = this.#reader.take()
      if (taken === 'end') return DONE
      if (taken !== 'later') return { done: false, value: taken }
      await new Promise<void>((resolve) => {
        this.#reader.whenReady(resolve)
      })
    }
  }
}
