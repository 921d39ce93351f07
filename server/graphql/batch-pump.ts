/**
 * From a reader of batches to the socket of one subscriber, without a promise for any of them: what a thousand subscribers are sent costs
 * each of them little more than the write.
 *
 * Whoever publishes does not wait for it: that there is news is noted, and sent in the next turn of the event loop. While the socket
 * holds back, nothing is taken.
 */
import type { ServerResponse } from 'node:http'
import type { BatchReader } from '../events/batch-reader.js'
import type { NextTurn } from './next-turn.js'
import type { ToEvent } from './shared-events.js'

export interface BatchPumpOptions {
  readonly reader: BatchReader
  readonly toEvent: ToEvent
  readonly response: ServerResponse
  readonly nextTurn: NextTurn
}

/** Resolves at the end of what the reader has; rejects with what it throws. */
export function sendBatches(options: BatchPumpOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    new BatchPump(options, resolve, reject).start()
  })
}

class BatchPump {
  readonly #options: BatchPumpOptions
  readonly #resolve: () => void
  readonly #reject: (thrown: unknown) => void
  /** `making`: an event has to be waited for. */
  #state: 'going' | 'making' | 'done' = 'going'
  #isNoted = false

  constructor(options: BatchPumpOptions, resolve: () => void, reject: (thrown: unknown) => void) {
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
  }

  start(): void {
    const { reader, response, nextTurn } = this.#options
    reader.whenReady(() => {
      if (!this.#isNoted) nextTurn(this.#go)
      this.#isNoted = true
    })
    response.on('drain', this.#go)
    this.#go()
  }

  readonly #go = (): void => {
    const { reader, response, toEvent } = this.#options
    this.#isNoted = false
    try {
      while (this.#state === 'going' && !response.writableNeedDrain) {
        const taken = reader.take()
        if (taken === 'later') return
        if (taken === 'end') this.#end(this.#resolve)
        else this.#send(toEvent(taken))
      }
    } catch (thrown) {
      this.#end(() => this.#reject(thrown))
    }
  }

  #send(event: Buffer | Promise<Buffer>): void {
    if (Buffer.isBuffer(event)) {
      this.#options.response.write(event)
      return
    }
    this.#state = 'making'
    event.then(
      (made) => {
        this.#state = 'going'
        this.#options.response.write(made)
        this.#go()
      },
      (thrown: unknown) => this.#end(() => this.#reject(thrown)),
    )
  }

  #end(settle: () => void): void {
    this.#state = 'done'
    this.#options.response.off('drain', this.#go)
    settle()
  }
}
