/**
 * What the processes ask of Redis, typed: one Lua script each. The keys carry one hash tag: a script moves a session between the queue
 * and its holders at once, so they have to live on one node of a cluster.
 */
import type { Redis } from 'ioredis'
import { storedId, type SessionId } from '../ids.js'
import type { ProcessPresence } from '../session/ports.js'
import { loadScript } from './script.js'

export interface RedisCommands {
  /** True: this process holds the session now. `ttlMs`: null when it has no free slot. */
  wake(sessionId: SessionId, delayMs: number, ttlMs: number | null): Promise<boolean>
  take(atMost: number, ttlMs: number): Promise<Taken>
  giveBack(sessionId: SessionId, wasWoken: boolean): Promise<void>
  /** True: Redis has it that this process holds the session. */
  isHolder(sessionId: SessionId): Promise<boolean>
  /** `number` is published to this process. True: Redis knew nothing of it. */
  beat(number: number, held: readonly SessionId[], ttlMs: number): Promise<boolean>
  /** `held`: what it leaves behind for others. */
  leave(held: readonly SessionId[]): Promise<void>
}
export interface Taken {
  readonly sessions: readonly SessionId[]
  /** In how many milliseconds the next one is due; null: none. */
  readonly nextInMs: number | null
}
export interface RedisNames {
  readonly queue: readonly [due: string, held: string, holder: string, woken: string, idle: string]
  readonly processes: readonly [registry: string, alive: string]
  /** What the channels of processes, and of sessions' events, begin with. */
  readonly processChannel: string
  readonly eventsChannel: string
  readonly announcements: string
}

export function toNames(prefix: string): RedisNames {
  const tagged = (name: string): string => `{${prefix}}:${name}`
  return {
    queue: [tagged('due'), tagged('held'), tagged('holder'), tagged('woken'), tagged('idle')],
    processes: [tagged('processes'), tagged('alive')],
    processChannel: `${prefix}:process:`,
    eventsChannel: `${prefix}:events:`,
    announcements: `${prefix}:announcements`,
  }
}

const US_PER_MS = 1000

export function createRedisCommands(redis: Redis, names: RedisNames, self: ProcessPresence): RedisCommands {
  const scripts = {
    wake: loadScript('queue', 'wake'),
    take: loadScript('queue', 'take'),
    giveBack: loadScript('queue', 'give-back'),
    beat: loadScript('queue', 'beat'),
    leave: loadScript('queue', 'leave'),
  }
  const asked = [names.processChannel, self.id]
  const everything = [...names.queue, ...names.processes]
  const [, , holder] = names.queue
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
    async isHolder(sessionId) {
      return (await redis.hget(holder, sessionId)) === self.id
    },
    async beat(number, held, ttlMs) {
      return (await scripts.beat.run(redis, everything, [...asked, JSON.stringify(self), number, toUs(ttlMs), ...held])) === 1
    },
    async leave(held) {
      await scripts.leave.run(redis, everything, [...asked, ...held])
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
