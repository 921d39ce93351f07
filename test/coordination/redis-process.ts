/** A coordinator over Redis as a process has one, and what is to be seen of it: its log, its meter, its gaps. */
import { expect, vi } from 'vitest'
import { systemClock, type Clock } from '../../server/clock.js'
import { createRedisCoordinator } from '../../server/coordination/redis.js'
import { createIdSource, type SessionId, type WorkerId } from '../../server/ids.js'
import type { Coordinator, Ticket } from '../../server/session/ports.js'
import type { CoordinatorBackend } from '../conformance/coordinator-backend.js'
import { silentLog } from '../support/silent-log.js'

export interface RedisProcessOptions {
  readonly url: string
  readonly prefix: string
  /** Default: 4. */
  readonly slots?: number
  /** Default: 1000, so that it beats four times a second. */
  readonly leaseTtlMs?: number
  readonly clock?: Clock
}
export interface RedisProcess {
  readonly id: WorkerId
  readonly coordinator: Coordinator
  /** What was logged: `warn Redis is not of use: …`. */
  readonly lines: readonly string[]
  /** What was metered. */
  readonly failures: number
  readonly gaps: number
  /** Resolves once its health says so; null: that it works. */
  untilHealth(fault: RegExp | null): Promise<void>
  /** The next session that it is handed out; null when it leaves. */
  take(): Promise<Ticket | null>
  /** Sessions that its slots are handed out from now on, in that order: each is held to the end, or given back at once. */
  run(how: 'hold' | 'give back'): readonly SessionId[]
  close(): Promise<void>
}

/** How long something may take that has no other limit. */
const PATIENCE = { timeout: 15_000, interval: 10 }
const ids = createIdSource()

export async function openRedisProcess(options: RedisProcessOptions): Promise<RedisProcess> {
  const { url, prefix, slots = 4, leaseTtlMs = 1000, clock = systemClock } = options
  const id = ids.next('wrk')
  const lines: string[] = []
  const seen = { failures: 0, gaps: 0 }
  const leaving = new AbortController()
  const note = (level: string) => (message: string) => void lines.push(`${level} ${message}`)
  const role = slots === 0 ? 'api' : 'worker'
  const coordinator = await createRedisCoordinator({
    ...{ url, prefix, clock, leaseTtlMs },
    self: { id, role, deployment: 'test', host: 'here', pid: 1, startedAt: systemClock.now(), slots },
    log: silentLog({ info: note('info'), warn: note('warn'), error: note('error') }),
    meter: { coordinationFailed: () => void (seen.failures += 1) },
  })
  coordinator.onGap(() => void (seen.gaps += 1))
  return {
    ...{ id, coordinator, lines },
    get failures() {
      return seen.failures
    },
    get gaps() {
      return seen.gaps
    },
    untilHealth: (fault) =>
      vi.waitFor(() => {
        const told = coordinator.health().fault
        if (fault === null) expect(told).toBeNull()
        else expect(told).toMatch(fault)
      }, PATIENCE),
    take: () => coordinator.take(leaving.signal),
    run(how) {
      const taken: SessionId[] = []
      const runSlot = async (): Promise<void> => {
        for (let ticket = await coordinator.take(leaving.signal); ticket !== null; ticket = await coordinator.take(leaving.signal)) {
          taken.push(ticket.sessionId)
          if (how === 'hold') return
          ticket.done()
        }
      }
      for (let slot = 0; slot < slots; slot += 1) void runSlot()
      return taken
    },
    async close() {
      leaving.abort()
      await coordinator.close()
    },
  }
}

/** Two processes, for the suite that every coordinator has to pass. */
export async function openRedisBackend(urls: readonly [string, string], prefix: string): Promise<CoordinatorBackend> {
  const [here, elsewhere] = await Promise.all([openRedisProcess({ url: urls[0], prefix }), openRedisProcess({ url: urls[1], prefix })])
  return {
    coordinator: here.coordinator,
    elsewhere: elsewhere.coordinator,
    now: systemClock.monotonic,
    pass: () => Promise.resolve(),
    async dispose() {
      await Promise.all([here.close(), elsewhere.close()])
    },
  }
}

/** Resolves once it holds. */
export async function eventually(check: () => void | Promise<void>): Promise<void> {
  await vi.waitFor(check, PATIENCE)
}
