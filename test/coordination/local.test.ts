import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLocalCoordinator } from '../../server/coordination/local.js'
import type { SessionId } from '../../server/ids.js'
import type { Ticket } from '../../server/session/ports.js'
import { describeCoordinator } from '../conformance/coordinator.js'
import { createFakeClock } from '../support/fake-clock.js'
import { sessionNamed } from '../support/log-store.js'

describeCoordinator('local', async () => {
  const clock = createFakeClock()
  const coordinator = createLocalCoordinator({ clock })
  return { coordinator, elsewhere: coordinator, now: clock.monotonic, pass: clock.advance, dispose: () => coordinator.close() }
})

describe('local', () => {
  test('callbacks that throw are logged', async () => {
    const lines: string[] = []
    const coordinator = createLocalCoordinator({ clock: createFakeClock(), log: { error: (message) => lines.push(message) } })
    const session = sessionNamed('a')
    const fail = () => {
      throw new Error('not my day')
    }
    coordinator.wake(session)
    const ticket = await coordinator.take(new AbortController().signal)
    ticket?.onNudge(fail)
    coordinator.wake(session)
    coordinator.onAnnounce(fail)
    coordinator.announce(session)
    expect(lines).toHaveLength(2)
  })

  test('slots that wait with one signal, again and again, put one listener on it', async () => {
    const coordinator = createLocalCoordinator({ clock: createFakeClock() })
    const { signal } = new AbortController()
    for (let round = 0; round < 20; round += 1) {
      const ticket = coordinator.take(signal)
      coordinator.wake(sessionNamed('a'))
      ;(await ticket)?.done()
    }
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  })

  test('close leaves no timer', async () => {
    const clock = createFakeClock()
    const coordinator = createLocalCoordinator({ clock })
    for (const name of ['a', 'b', 'c']) coordinator.wake(sessionNamed(name), 1_000)
    await coordinator.close()
    expect(clock.pending).toBe(0)
  })

  test('a session woken again and again for later holds one timer', () => {
    const clock = createFakeClock()
    const coordinator = createLocalCoordinator({ clock })
    for (let delayMs = 1_000; delayMs > 0; delayMs -= 1) coordinator.wake(sessionNamed('a'), delayMs)
    expect(clock.pending).toBe(1)
  })

  test('a subscriber that is sent away by another one is not called any more', async () => {
    const coordinator = createLocalCoordinator({ clock: createFakeClock() })
    const session = sessionNamed('a')
    let leave = (): void => undefined
    await coordinator.subscribe(session, () => leave())
    const heard: unknown[] = []
    leave = await coordinator.subscribe(session, (events) => heard.push(events))
    coordinator.publish(session, [])
    expect(heard).toEqual([])
  })

  test('a subscriber that subscribes while it is called back hears later publishes only', async () => {
    const coordinator = createLocalCoordinator({ clock: createFakeClock() })
    const session = sessionNamed('a')
    const heard: string[] = []
    await coordinator.subscribe(session, () => {
      heard.push('first')
      if (heard.length === 1) void coordinator.subscribe(session, () => heard.push('second'))
    })
    coordinator.publish(session, [])
    coordinator.publish(session, [])
    expect(heard).toEqual(['first', 'first', 'second'])
  })
})

// ---- every wake is answered

const sessions = ['a', 'b', 'c'].map(sessionNamed)
const command = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('wake'), session: fc.constantFrom(...sessions), delayMs: fc.constantFrom(0, 0, 10) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('take') }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('done'), nth: fc.nat({ max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('abort') }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass'), ms: fc.constantFrom(0, 5, 10) }) },
)
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never

class Run {
  readonly #clock = createFakeClock()
  readonly #coordinator = createLocalCoordinator({ clock: this.#clock })
  readonly #held: Ticket[] = []
  /** Sessions that were woken and have not been handed out, or told to their holder, since. */
  readonly #unanswered = new Set<SessionId>()
  #leave = new AbortController()

  async do(step: Command): Promise<void> {
    switch (step.do) {
      case 'wake':
        this.#unanswered.add(step.session)
        this.#coordinator.wake(step.session, step.delayMs)
        break
      case 'take':
        void this.#coordinator.take(this.#leave.signal).then((ticket) => {
          if (ticket !== null) this.#hold(ticket)
        })
        break
      case 'done':
        this.#held.splice(step.nth, 1)[0]?.done()
        break
      case 'abort':
        this.#leave.abort()
        this.#leave = new AbortController()
        break
      case 'pass':
        await this.#clock.advance(step.ms)
    }
    await this.#clock.advance(0)
  }

  async finish(): Promise<void> {
    await this.#clock.advance(10)
    for (let round = 0; round < 10; round += 1) {
      await this.do({ do: 'take' })
      await this.do({ do: 'done', nth: 0 })
    }
    expect(this.#unanswered).toEqual(new Set())
  }

  #hold(ticket: Ticket): void {
    expect(this.#held.map((held) => held.sessionId)).not.toContain(ticket.sessionId)
    this.#held.push(ticket)
    this.#unanswered.delete(ticket.sessionId)
    ticket.onNudge(() => this.#unanswered.delete(ticket.sessionId))
  }
}

test('whatever happens, a session has one holder at most, and every wake is followed by a hand-out or a nudge', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (commands) => {
      const run = new Run()
      for (const step of commands) await run.do(step)
      await run.finish()
    }),
    { numRuns: 300 },
  )
})
