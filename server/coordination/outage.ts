/** Tells the log of an outage: one line when it begins, one when it is over for good, however often it comes and goes between. */
import type { Log } from '../session/ports.js'

/** Signs of life in a row, after which it is over. */
const CALM = 3

export class Outage {
  readonly #log: Log
  readonly #redis: string
  #isTold = false
  #calm = 0

  constructor(log: Log, redis: string) {
    this.#log = log
    this.#redis = redis
  }

  begin(fault: string): void {
    this.#calm = 0
    if (!this.#isTold)
      this.#log.warn(`Redis is not of use: ${fault}; sessions are found in the database until it is`, { redis: this.#redis })
    this.#isTold = true
  }

  hearSignOfLife(): void {
    this.#calm += 1
    if (!this.#isTold || this.#calm < CALM) return
    this.#isTold = false
    this.#log.info('Redis is of use again', { redis: this.#redis })
  }
}
