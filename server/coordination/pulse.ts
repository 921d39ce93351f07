/**
 * The regular sign of life of a process: says that it is there and what it holds, finds Redis again after an outage, and notices when
 * what is published is not heard.
 */
import type { Clock } from '../clock.js'
import type { RedisLink } from './redis-link.js'

export interface PulseOptions {
  readonly link: Pick<RedisLink, 'probe' | 'hear' | 'fail' | 'renew'>
  readonly clock: Clock
  readonly beatMs: number
  /** `number` comes back on the process' own channel, where `hear` takes it. True: Redis knew nothing of this process. */
  readonly beat: (number: number) => Promise<boolean>
  /** Called after each that was answered. */
  readonly onBeat: () => void
  /** Called when something may have been missed. */
  readonly onGap: () => void
}

/** Beats that were answered and not heard, after which the connection that should hear them is replaced. */
const MAX_UNHEARD = 3

export class Pulse {
  readonly #options: PulseOptions
  /** Numbers of the newest beat that was sent, answered, and heard. */
  #sent = 0
  #answered = 0
  #heard = 0
  #beating: Promise<boolean> | null = null
  #isStopped = false
  #cancelTimer = (): void => undefined

  constructor(options: PulseOptions) {
    this.#options = options
    this.#schedule()
  }

  /** One at a time. False: it was not answered. */
  beat(): Promise<boolean> {
    return (this.#beating ??= this.#beat().finally(() => (this.#beating = null)))
  }

  /** From now on the process' own channel is heard. */
  listen(): void {
    this.#heard = this.#sent
    this.#options.link.hear()
  }

  hear(number: number): void {
    if (number > this.#heard + 1) this.#options.onGap()
    this.#heard = number
    this.#options.link.hear()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
  }

  #schedule(): void {
    const { clock, beatMs } = this.#options
    this.#cancelTimer = clock.after(beatMs, () => {
      this.#schedule()
      void this.#check()
    })
  }

  async #check(): Promise<void> {
    const { link } = this.#options
    if (!(await this.beat())) {
      // Silent, moved, or a master no more: the same name may lead to one that works.
      link.renew('commands')
      link.renew('subscriber')
    } else if (this.#answered - this.#heard > MAX_UNHEARD) {
      link.fail('subscriber', new Error('what is published is not heard'))
      link.renew('subscriber')
    }
  }

  async #beat(): Promise<boolean> {
    const { link, beat, onBeat, onGap } = this.#options
    const number = (this.#sent = this.#answered + 1)
    const answer = await link.probe(() => beat(number))
    if (answer === null || this.#isStopped) return this.#isStopped
    this.#answered = number
    if (answer.value && number > 1) onGap()
    onBeat()
    return true
  }
}
