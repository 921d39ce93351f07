/**
 * The ready queue of many processes. Redis has the queue and says who holds what; this process has the slots that wait, and hands out
 * to them what it took. While Redis is away it is the queue of a single process: what the sweep finds here is handed out here, and two
 * processes may ask for the same session, which the database decides.
 *
 * - No more is taken out of Redis than there are slots that wait; what none of them can drive any more goes back.
 * - The process is either registered as idle, so that it is told of the next due session, or about to ask, or all its slots are busy.
 *   A message that is lost costs a beat, when it asks again.
 * - A session is handed out on an answer of Redis, never on a message: messages and answers come on two connections, in any order.
 */
import type { Clock } from '../clock.js'
import type { SessionId } from '../ids.js'
import type { Ticket } from '../session/ports.js'
import { ReadyQueue } from './ready-queue.js'
import type { RedisCommands } from './redis-commands.js'
import type { RedisLink } from './redis-link.js'

export interface RedisQueueOptions {
  readonly link: Pick<RedisLink, 'ask'>
  readonly commands: RedisCommands
  readonly clock: Clock
  /** False: this process has no slots; it only wakes. */
  readonly drives: boolean
  /** How long Redis takes a session for held without hearing of its holder. */
  readonly holdMs: number
  readonly onFault: (thrown: unknown) => void
}

export class RedisQueue {
  readonly #options: RedisQueueOptions
  readonly #local: ReadyQueue
  /** Slots that wait and that an answer of Redis may fill. */
  #promised = 0
  #isRegistered = false
  #isAsking = false
  #wasTold = false
  #cancelNext = (): void => undefined

  constructor(options: RedisQueueOptions) {
    this.#options = options
    const { clock, onFault } = options
    this.#local = new ReadyQueue({ clock, onFault, onGivenBack: (id, wasWoken) => void this.#giveBack(id, wasWoken) })
  }

  get held(): readonly SessionId[] {
    return this.#local.held
  }

  wake(sessionId: SessionId, delayMs: number): void {
    if (delayMs <= 0 && this.#local.isHeld(sessionId)) this.#local.wake(sessionId, 0)
    else void this.#wakeThere(sessionId, Math.max(0, delayMs))
  }

  take(signal: AbortSignal): Promise<Ticket | null> {
    const ticket = this.#local.take(signal)
    void this.#fill()
    return ticket
  }

  /** Redis says that there is work. It does not count on this process any more, so one without a free slot passes it on. */
  hearOfWork(): void {
    this.#isRegistered = false
    this.#wasTold = true
    if (this.#free > 0) void this.#fill()
    else void this.#options.link.ask(() => this.#options.commands.take(0, this.#options.holdMs))
  }

  /** Redis says that there is news of a session that this process holds: the driver looks again. */
  hearOfNews(sessionId: SessionId): void {
    if (this.#local.isHeld(sessionId)) this.#local.wake(sessionId, 0)
    else void this.#confirm(sessionId)
  }

  /** Asks again, whatever was said before. */
  refresh(): void {
    this.#isRegistered = false
    void this.#fill()
  }

  /** Redis works again: it gets what was to be handed out without it. */
  moveBack(): void {
    for (const { sessionId, delayMs } of this.#local.withdraw()) this.wake(sessionId, delayMs)
  }

  close(): void {
    this.#cancelNext()
    this.#local.close()
  }

  get #free(): number {
    return this.#local.waiting - this.#promised
  }

  async #wakeThere(sessionId: SessionId, delayMs: number): Promise<void> {
    const { link, commands, holdMs, drives } = this.#options
    const slots = delayMs === 0 && this.#free > 0 ? 1 : 0
    this.#promised += slots
    const answer = await link.ask(() => commands.wake(sessionId, delayMs, slots === 0 ? null : holdMs))
    this.#promised -= slots
    if (answer === null && drives) this.#local.wake(sessionId, delayMs)
    if (answer?.value === true) this.#handOut(sessionId)
    if (slots > 0) void this.#fill()
  }

  async #fill(): Promise<void> {
    const { link, commands, holdMs } = this.#options
    const slots = this.#free
    if (this.#isRegistered || this.#isAsking || slots <= 0) return
    this.#isAsking = true
    this.#wasTold = false
    this.#promised += slots
    const answer = await link.ask(() => commands.take(slots, holdMs))
    this.#promised -= slots
    this.#isAsking = false
    if (answer === null) return
    const { sessions, nextInMs } = answer.value
    // Told while it asked: the message may have overtaken the answer, and Redis does not count on this process any more.
    this.#isRegistered = sessions.length < slots && !this.#wasTold
    for (const sessionId of sessions) this.#handOut(sessionId)
    this.#cancelNext()
    if (nextInMs !== null) this.#cancelNext = this.#options.clock.after(Math.ceil(nextInMs), () => this.refresh())
    void this.#fill()
  }

  /**
   * There is no driver here, yet Redis says that there is. Either it was just given back, or it is about to be handed out: messages
   * overtake answers. Or an answer was lost. What Redis answers to this comes after all answers that are under way.
   */
  async #confirm(sessionId: SessionId): Promise<void> {
    const { link, commands } = this.#options
    const answer = await link.ask(() => commands.isHolder(sessionId))
    if (answer?.value === true) this.#handOut(sessionId)
  }

  #handOut(sessionId: SessionId): void {
    if (this.#local.waiting > 0 || this.#local.isHeld(sessionId)) this.#local.wake(sessionId, 0)
    else void this.#giveBack(sessionId, true)
  }

  async #giveBack(sessionId: SessionId, wasWoken: boolean): Promise<void> {
    const { link, commands } = this.#options
    const answer = await link.ask(() => commands.giveBack(sessionId, wasWoken))
    if (answer === null && wasWoken) this.#local.wake(sessionId, 0)
  }
}
