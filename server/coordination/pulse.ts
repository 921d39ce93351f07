/**
 * The regular sign of life of a process: says that it is there and what it holds, finds Redis again after an outage, and notices when
 * what is published is not heard.
 */
import type { Clock } from '../clock.js'
import type { RedisLink } from './redis-link.js'

export interface PulseOptions {
  readonly link: Pick<RedisLink, 'probe' | 'replaceSubscriber'>
  readonly clock: Clock
  readonly beatMs: number
  /** True: Redis knew nothing of this process. It answers on the process' own channel too, where `hear` takes it. */
  readonly beat: () => Promise<boolean>
  /** Called after each that was answered. */
  readonly onBeat: () => void
  /** Called when something may have been missed. */
  readonly onGap: () => void
}

/** Beats that were answered and not heard, after which the connection that should hear them is replaced. */
const MAX_UNHEARD = 3

export class Pulse {
  readonly #options: PulseOptions
  #unheard = 0
  #isBeating = false
  #isFirst = true
  #isStopped = false
  #cancelTimer = (): void => undefined
  #onAnswered = (): void => undefined
  /** Resolves with the first answer. */
  readonly answered: Promise<void>

  constructor(options: PulseOptions) {
    this.#options = options
    this.answered = new Promise((resolve) => (this.#onAnswered = resolve))
    this.#schedule()
  }

  beat(): void {
    if (!this.#isBeating && !this.#isStopped) void this.#beat()
  }

  hear(): void {
    if (this.#unheard > 1) this.#options.onGap()
    this.#unheard = 0
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
  }

  #schedule(): void {
    const { clock, beatMs } = this.#options
    this.#cancelTimer = clock.after(beatMs, () => {
      this.#schedule()
      this.beat()
    })
  }

  async #beat(): Promise<void> {
    const { link, beat, onBeat, onGap } = this.#options
    this.#isBeating = true
    const answer = await link.probe(beat)
    this.#isBeating = false
    if (answer === null || this.#isStopped) return
    this.#unheard += 1
    if (this.#unheard > MAX_UNHEARD) {
      this.#unheard = 1
      link.replaceSubscriber()
    }
    if (answer.value && !this.#isFirst) onGap()
    this.#isFirst = false
    onBeat()
    this.#onAnswered()
  }
}
