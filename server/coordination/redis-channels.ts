/**
 * What the subscribers of this process hear of the sessions that they follow, over one connection: a channel of Redis is subscribed to
 * while somebody follows its session. What is published here reaches them at once, without the way through Redis.
 *
 * Not sharded, in a cluster either: channels spread over the nodes would need a connection to each of them, and a fault for each.
 */
import type { SessionId } from '../ids.js'
import type { RecordedEvent } from '../session/events.js'
import { createBroadcast, type Broadcast } from './broadcast.js'
import { decodeEvents, encodeEvents } from './event-message.js'
import type { RedisNames } from './redis-commands.js'
import type { RedisLink } from './redis-link.js'

export interface RedisChannelsOptions {
  readonly link: Pick<RedisLink, 'ask' | 'commands' | 'subscriber'>
  readonly names: RedisNames
  readonly self: string
  readonly onFault: (thrown: unknown) => void
}
interface Channel {
  readonly broadcast: Broadcast<readonly RecordedEvent[]>
  opened: Promise<unknown>
}

/** Names in one SUBSCRIBE. */
const AT_ONCE = 500

export class RedisChannels {
  readonly #options: RedisChannelsOptions
  readonly #channels = new Map<string, Channel>()
  /** For the others, in order: sent once whoever published has gone on, who most often has a statement to send. */
  readonly #outbox: { readonly name: string; readonly events: readonly RecordedEvent[] }[] = []

  constructor(options: RedisChannelsOptions) {
    this.#options = options
  }

  publish(sessionId: SessionId, events: readonly RecordedEvent[]): void {
    const name = this.#nameOf(sessionId)
    this.#channels.get(name)?.broadcast.send(events)
    this.#outbox.push({ name, events })
    if (this.#outbox.length === 1) setImmediate(() => this.#flush())
  }

  /** While Redis is away it resolves at once; `reopen` subscribes later. */
  async subscribe(sessionId: SessionId, callback: (events: readonly RecordedEvent[]) => void): Promise<() => void> {
    const name = this.#nameOf(sessionId)
    const channel = this.#channels.get(name) ?? this.#open(name)
    const remove = channel.broadcast.add(callback)
    await channel.opened
    return () => {
      remove()
      if (channel.broadcast.size === 0 && this.#channels.get(name) === channel) this.#close(name)
    }
  }

  #flush(): void {
    const { link, self } = this.#options
    for (const { name, events } of this.#outbox.splice(0)) void link.ask(() => link.commands.publish(name, encodeEvents(self, events)))
  }

  hear(name: string, message: string): void {
    const events = decodeEvents(this.#options.self, message)
    if (events !== null) this.#channels.get(name)?.broadcast.send(events)
  }

  /** After a reconnect: subscribes to everything, at last to these: whoever hears on them hears all. */
  async reopen(last: readonly string[]): Promise<void> {
    const names = [...this.#channels.keys(), ...last]
    const { subscriber } = this.#options.link
    const parts: Promise<unknown>[] = []
    // All are sent before one is awaited: whoever leaves meanwhile unsubscribes after it.
    for (let start = 0; start < names.length; start += AT_ONCE) parts.push(subscriber.subscribe(...names.slice(start, start + AT_ONCE)))
    await Promise.all(parts)
  }

  clear(): void {
    this.#channels.clear()
  }

  #open(name: string): Channel {
    const { link, onFault } = this.#options
    const opened = link.subscriber.subscribe(name).catch(() => undefined)
    const channel = { broadcast: createBroadcast<readonly RecordedEvent[]>(onFault), opened }
    this.#channels.set(name, channel)
    return channel
  }

  #close(name: string): void {
    this.#channels.delete(name)
    this.#options.link.subscriber.unsubscribe(name).catch(() => undefined)
  }

  #nameOf(sessionId: SessionId): string {
    return `${this.#options.names.eventsChannel}${sessionId}`
  }
}
