/**
 * The coordinator of many processes, over Redis or Valkey, alone or as a cluster. It holds no truth (R5): flushed, restarted or gone, it
 * costs time and nothing else. Three parts share its connections: the queue, the channels of live events, and the pulse.
 */
import type { Clock } from '../clock.js'
import { storedId, type SessionId } from '../ids.js'
import type { Meter } from '../session/meter.js'
import type { Coordinator, CoordinatorHealth, Log, ProcessPresence, Ticket } from '../session/ports.js'
import type { RecordedEvent } from '../session/events.js'
import { createBroadcast, type Broadcast } from './broadcast.js'
import { readProcesses } from './presence.js'
import { Pulse } from './pulse.js'
import { RedisChannels } from './redis-channels.js'
import { createRedisCommands, toNames, type RedisCommands, type RedisNames } from './redis-commands.js'
import { RedisLink } from './redis-link.js'
import { RedisQueue } from './redis-queue.js'

export interface RedisCoordinatorOptions {
  /** redis:// or rediss://; with `?cluster=true` a node of a Redis Cluster. */
  readonly url: string
  /** What the names of all keys and channels begin with. */
  readonly prefix: string
  readonly self: ProcessPresence
  readonly clock: Clock
  readonly log: Log
  readonly meter: Pick<Meter, 'coordinationFailed'>
  /** Life of a lease in the database; a hold in Redis lives shorter, so that it never keeps a free session from anybody. */
  readonly leaseTtlMs: number
}

const LONGEST_BEAT_MS = 1000
/** Beats that may be missed before the holds of a process count for nothing. */
const BEATS_PER_HOLD = 3
/** How long a start waits for Redis; it goes on without. */
const PATIENCE_MS = 2000

/** Resolves once Redis answers, or after two seconds without: then sessions are found in the database until it does. */
export async function createRedisCoordinator(options: RedisCoordinatorOptions): Promise<Coordinator> {
  const coordinator = new RedisCoordinator(options)
  await coordinator.opened
  return coordinator
}

class RedisCoordinator implements Coordinator {
  readonly opened: Promise<void>
  readonly #self: string
  readonly #names: RedisNames
  readonly #link: RedisLink
  readonly #commands: RedisCommands
  readonly #queue: RedisQueue
  readonly #channels: RedisChannels
  readonly #pulse: Pulse
  readonly #announcements: Broadcast<SessionId>
  readonly #gaps: Broadcast<undefined>
  #tellOpened = (): void => undefined
  #isClosed = false

  constructor({ url, prefix, self, clock, log, meter, leaseTtlMs }: RedisCoordinatorOptions) {
    const onFault = (err: unknown): void => log.error('a coordination callback threw', { err })
    const onGap = (): void => this.#gaps.send(undefined)
    const drives = self.slots > 0
    const beatMs = Math.min(LONGEST_BEAT_MS, leaseTtlMs / 4)
    const holdMs = BEATS_PER_HOLD * beatMs
    this.#self = self.id
    this.#names = toNames(prefix)
    this.#announcements = createBroadcast(onFault)
    this.#gaps = createBroadcast(onFault)
    const link = new RedisLink({
      ...{ url, log, meter, key: this.#names.queue[0] },
      onChange: () => this.#hearOfChange(),
      onMessage: (channel, message) => this.#hear(channel, message),
      onReady: (connection) => void (connection === 'commands' ? this.#pulse.beat() : this.#subscribeAgain()),
    })
    this.#link = link
    this.#commands = createRedisCommands(link.commands, this.#names, self)
    this.#queue = new RedisQueue({ link, commands: this.#commands, clock, holdMs, onFault, drives })
    this.#channels = new RedisChannels({ link, names: this.#names, self: self.id, onFault })
    this.#pulse = new Pulse({
      ...{ link, clock, beatMs, onGap },
      beat: (number) => this.#commands.beat(number, this.#queue.held, holdMs),
      onBeat: () => this.#queue.refresh(),
    })
    this.opened = atMost(PATIENCE_MS, new Promise<void>((resolve) => (this.#tellOpened = resolve)), clock)
    link.open()
  }

  wake(sessionId: SessionId, delayMs = 0): void {
    if (!this.#isClosed) this.#queue.wake(sessionId, delayMs)
  }

  take(signal: AbortSignal): Promise<Ticket | null> {
    return this.#queue.take(signal)
  }

  publish(sessionId: SessionId, events: readonly RecordedEvent[]): void {
    if (!this.#isClosed) this.#channels.publish(sessionId, events)
  }

  subscribe(sessionId: SessionId, callback: (events: readonly RecordedEvent[]) => void): Promise<() => void> {
    return this.#channels.subscribe(sessionId, callback)
  }

  announce(sessionId: SessionId): void {
    if (this.#isClosed) return
    this.#announcements.send(sessionId)
    void this.#link.ask(() => this.#link.commands.publish(this.#names.announcements, `${this.#self} ${sessionId}`))
  }

  onAnnounce(callback: (sessionId: SessionId) => void): () => void {
    return this.#announcements.add(callback)
  }

  onGap(callback: () => void): () => void {
    return this.#gaps.add(callback)
  }

  health(): CoordinatorHealth {
    return { kind: 'redis', fault: this.#link.fault }
  }

  async processes(): Promise<readonly ProcessPresence[]> {
    return (await this.#link.ask(() => readProcesses(this.#link.commands, this.#names)))?.value ?? []
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const { held } = this.#queue
    this.#pulse.stop()
    this.#queue.close()
    this.#channels.clear()
    await this.#link.ask(() => this.#commands.leave(held))
    await this.#link.close()
  }

  get #ownChannel(): string {
    return `${this.#names.processChannel}${this.#self}`
  }

  /** Begins or ends to work: whatever was under way may be lost. */
  #hearOfChange(): void {
    if (!this.#link.isAway) this.#queue.moveBack()
    if (this.#link.fault === null) this.#tellOpened()
    this.#gaps.send(undefined)
  }

  async #subscribeAgain(): Promise<void> {
    try {
      await this.#channels.reopen([this.#names.announcements, this.#ownChannel])
      this.#pulse.listen()
      // Redis passed over this process while it was deaf.
      this.#queue.refresh()
    } catch (thrown) {
      this.#link.fail('subscriber', thrown)
    }
  }

  #hear(channel: string, message: string): void {
    if (this.#isClosed) return
    if (channel === this.#ownChannel) this.#hearOfOneself(message)
    else if (channel === this.#names.announcements) this.#hearAnnouncement(message)
    else this.#channels.hear(channel, message)
  }

  /** What the scripts of lua/ publish to one process. */
  #hearOfOneself(message: string): void {
    if (message.startsWith('b')) this.#pulse.hear(Number(message.slice(1)))
    else if (message === 'w') this.#queue.hearOfWork()
    else if (message.startsWith('n')) this.#queue.hearOfNews(storedId('ses', message.slice(1)))
  }

  #hearAnnouncement(message: string): void {
    const [from, sessionId] = message.split(' ')
    if (from !== this.#self && sessionId !== undefined) this.#announcements.send(storedId('ses', sessionId))
  }
}

async function atMost(ms: number, done: Promise<unknown>, clock: Clock): Promise<void> {
  let cancel = (): void => undefined
  await Promise.race([done, new Promise<void>((resolve) => (cancel = clock.after(ms, resolve)))])
  cancel()
}
