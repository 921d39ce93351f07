/**
 * What the processes ask of Redis, typed: one Lua script each. The keys carry one hash tag: a script moves a session between the queue
 * and its holders at once, so they have to live on one node of a cluster.
 */
import type { Cluster, Redis } from 'ioredis'
import { storedId, type SessionId } from '../ids.js'
import type { ProcessPresence } from '../session/ports.js'
import { loadScript } from './script.js'

export interface RedisCommands {
  /** True: this process holds the session now. `ttlMs`: null when it has no free slot. */
  wake(sessionId: SessionId, delayMs: number, ttlMs: number | null): Promise<boolean>
  take(atMost: number, ttlMs: number): Promise<Taken>
  giveBack(sessionId: SessionId, wasWoken: boolean): Promise<void>
  /** True: Redis knew nothing of this process. */
  beat(held: readonly SessionId[], forMs: number, ttlMs: number): Promise<boolean>
  leave(): Promise<void>
}
export interface Taken {
  readonly sessions: readonly SessionId[]
  /** In how many milliseconds the next one is due; null: none. */
  readonly nextInMs: number | null
}
export interface RedisNames {
  readonly queue: readonly string[]
  readonly processes: readonly [registry: string, alive: string]
  /** What the channels of processes, and of sessions' events, begin with. */
  readonly processChannel: string
  readonly eventsChannel: string
  readonly announcements: string
}

export function toNames(prefix: string): RedisNames {
  const tagged = (name: string): string => `{${prefix}}:${name}`
  return {
    queue: ['due', 'held', 'holder', 'woken', 'idle'].map(tagged),
    processes: [tagged('processes'), tagged('alive')],
    processChannel: `${prefix}:process:`,
    eventsChannel: `${prefix}:events:`,
    announcements: `${prefix}:announcements`,
  }
}

const US_PER_MS = 1000

export function createRedisCommands(redis: Redis | Cluster, names: RedisNames, self: ProcessPresence): RedisCommands {
  const scripts = {
    wake: loadScript('queue', 'wake'),
    take: loadScript('queue', 'take'),
    giveBack: loadScript('queue', 'give-back'),
    beat: loadScript('queue', 'beat'),
    leave: loadScript('queue', 'leave'),
  }
  const asked = [names.processChannel, self.id]
  const everything = [...names.queue, ...names.processes]
  const toUs = (ms: number): number => Math.ceil(ms * US_PER_MS)
  return {
    async wake(sessionId, delayMs, ttlMs) {
      return (await scripts.wake.run(redis, names.queue, [...asked, sessionId, toUs(delayMs), toUs(ttlMs ?? 0)])) === 1
    },
    async take(atMost, ttlMs) {
      return toTaken(await scripts.take.run(redis, names.queue, [...asked, atMost, toUs(ttlMs)]))
    },
    async giveBack(sessionId, wasWoken) {
      await scripts.giveBack.run(redis, names.queue, [...asked, sessionId, wasWoken ? '1' : '0'])
    },
    async beat(held, forMs, ttlMs) {
      return (await scripts.beat.run(redis, everything, [...asked, JSON.stringify(self), toUs(forMs), toUs(ttlMs), ...held])) === 1
    },
    async leave() {
      await scripts.leave.run(redis, everything, asked)
    },
  }
}

function toTaken(reply: unknown): Taken {
  const [next, ...sessions] = toList(reply)
  return {
    sessions: sessions.map((id) => storedId('ses', String(id))),
    nextInMs: typeof next === 'number' && next >= 0 ? next / US_PER_MS : null,
  }
}

function toList(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : []
}
