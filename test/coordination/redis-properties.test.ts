/**
 * Three processes over the real scripts, and whatever may happen to them. Time is told by the test: a process beats when it is let, the
 * holds of one that is frozen run out at once. So what is handed out is handed out because somebody was told, not because he asked again.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SessionId } from '../../server/ids.js'
import type { Ticket } from '../../server/session/ports.js'
import { createFakeClock, type FakeClock } from '../support/fake-clock.js'
import { sessionNamed } from '../support/log-store.js'
import { uniquePrefix, withRedis } from '../support/redis.js'
import { startRedisServer, type RedisServer } from '../support/redis-server.js'
import { eventually, openRedisProcess, type RedisProcess } from './redis-process.js'

const BEAT_MS = 1000
/** A hold lasts three beats, which is longer than a run. */
const LEASE_MS = 4 * BEAT_MS
const SESSIONS = ['a', 'b', 'c'].map(sessionNamed)
const process = fc.nat({ max: 2 })
const session = fc.constantFrom(...SESSIONS)
const command = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('wake'), process, session, delayMs: fc.constantFrom(0, 0, 0, 5) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('take'), process }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('done'), nth: fc.nat({ max: 5 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('settle') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abort'), process }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('beat'), process }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('freeze'), process }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('flush') }) },
)
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never

interface Member {
  readonly process: RedisProcess
  readonly clock: FakeClock
  leave: AbortController
  /** Its holds are being lost, also those that it has not heard of yet. */
  isLosing: boolean
}
interface Held {
  readonly ticket: Ticket
  readonly by: Member
  /** False once Redis has lost the hold: another process may be handed the session too. */
  isKnown: boolean
}

class Run {
  readonly #prefix: string
  readonly #members: readonly Member[]
  readonly #held = new Set<Held>()
  /** Sessions that were woken and have not been handed out, or told to their holder, since. */
  readonly #unanswered = new Set<SessionId>()
  readonly #faults: string[] = []
  /** Something happened after which only a beat, or a sweep, puts things right. */
  #needsBeat = false
  #needsSweep = false

  private constructor(prefix: string, members: readonly Member[]) {
    this.#prefix = prefix
    this.#members = members
  }

  static async open(): Promise<Run> {
    const prefix = uniquePrefix()
    const open = async (): Promise<Member> => {
      const clock = createFakeClock()
      return {
        process: await openRedisProcess({ url: server.url, prefix, clock, leaseTtlMs: LEASE_MS }),
        clock,
        leave: new AbortController(),
        isLosing: false,
      }
    }
    return new Run(prefix, await Promise.all([open(), open(), open()]))
  }

  async do(step: Command): Promise<void> {
    switch (step.do) {
      case 'wake':
        this.#wake(this.#member(step.process), step.session, step.delayMs)
        break
      case 'take':
        void this.#take(this.#member(step.process))
        break
      case 'done':
        this.#giveBack([...this.#held][step.nth])
        break
      case 'settle':
        await this.#settle()
        break
      case 'abort':
        this.#member(step.process).leave.abort()
        this.#member(step.process).leave = new AbortController()
        break
      case 'beat':
        await this.#member(step.process).clock.advance(BEAT_MS)
        break
      case 'freeze':
        await this.#freeze(this.#member(step.process))
        break
      case 'flush':
        await this.#flush()
    }
  }

  /** Everybody drives whatever there is: in the end nothing that was woken is left. */
  async finish(): Promise<void> {
    if (this.#needsSweep) for (const id of SESSIONS) this.#wake(this.#member(0), id, 0)
    for (const held of this.#held) this.#giveBack(held)
    for (const member of this.#members) void this.#drive(member)
    await eventually(async () => {
      if (this.#needsBeat) await Promise.all(this.#members.map(({ clock }) => clock.advance(BEAT_MS)))
      expect(this.#unanswered).toEqual(new Set())
    })
    expect(this.#faults).toEqual([])
  }

  async close(): Promise<void> {
    for (const { leave } of this.#members) leave.abort()
    await Promise.all(this.#members.map((member) => member.process.close()))
  }

  #member(nth: number): Member {
    const member = this.#members[nth]
    if (member === undefined) throw new Error(`there is no process ${nth}`)
    return member
  }

  #wake({ process }: Member, sessionId: SessionId, delayMs: number): void {
    this.#unanswered.add(sessionId)
    if (delayMs > 0) this.#needsBeat = true
    process.coordinator.wake(sessionId, delayMs)
  }

  async #take(by: Member): Promise<Held | null> {
    const ticket = await by.process.coordinator.take(by.leave.signal)
    if (ticket === null) return null
    const { sessionId } = ticket
    for (const other of this.#held) {
      if (other.isKnown && other.ticket.sessionId === sessionId) this.#faults.push(`${sessionId} has two holders`)
    }
    const held = { ticket, by, isKnown: !by.isLosing }
    this.#held.add(held)
    this.#unanswered.delete(sessionId)
    ticket.onNudge(() => this.#unanswered.delete(sessionId))
    return held
  }

  #giveBack(held: Held | undefined): void {
    if (held === undefined) return
    this.#held.delete(held)
    held.ticket.done()
  }

  async #drive(member: Member): Promise<void> {
    for (let held = await this.#take(member); held !== null; held = await this.#take(member)) this.#giveBack(held)
  }

  /** Every answer that is under way has come. */
  async #settle(): Promise<void> {
    await Promise.all(this.#members.map(({ process }) => process.coordinator.processes()))
  }

  /** It does not beat for so long that its holds run out. */
  async #freeze(frozen: Member): Promise<void> {
    const script = `for _, s in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
      if redis.call('HGET', KEYS[2], s) == ARGV[1] then redis.call('ZADD', KEYS[1], 1, s) end end`
    const keys = ['held', 'holder'].map((name) => `{${this.#prefix}}:${name}`)
    await this.#loseHolds([frozen], () => withRedis((redis) => redis.eval(script, keys.length, ...keys, frozen.process.id), server.url))
  }

  async #flush(): Promise<void> {
    this.#needsSweep = true
    await this.#loseHolds(this.#members, () => server.command('FLUSHALL'))
  }

  async #loseHolds(by: readonly Member[], how: () => Promise<unknown>): Promise<void> {
    this.#needsBeat = true
    for (const member of by) member.isLosing = true
    await how()
    await this.#settle()
    for (const member of by) member.isLosing = false
    for (const held of this.#held) if (by.includes(held.by)) held.isKnown = false
  }
}

let server: RedisServer

beforeAll(async () => {
  server = await startRedisServer()
})
afterAll(() => server.close())

test('whatever happens, a session has one holder at most, and every wake is followed by a hand-out or a nudge', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
      const run = await Run.open()
      try {
        for (const step of commands) await run.do(step)
        await run.finish()
      } finally {
        await run.close()
      }
    }),
    { numRuns: 100 },
  )
}, 120_000)
