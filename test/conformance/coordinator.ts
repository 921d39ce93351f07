/**
 * What every Coordinator promises, whatever it is built on. A backend's test opens it and calls this.
 * Nothing here waits for a time to pass by itself: what must not happen is shown by what comes instead.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SessionId } from '../../server/ids.js'
import type { RecordedEvent } from '../../server/session/events.js'
import type { Coordinator, Ticket } from '../../server/session/ports.js'
import { sessionNamed } from '../support/log-store.js'
import { turnResumed } from '../support/sample-events.js'

export interface CoordinatorBackend {
  readonly coordinator: Coordinator
  /** The same from another process; one that serves a single process gives itself. */
  readonly elsewhere: Coordinator
  /** Milliseconds, of the clock that its delays are measured with. */
  now(): number
  /** Lets time pass; with a real clock there is nothing to do. */
  pass(ms: number): Promise<void>
  dispose(): Promise<void>
}

const [A, B, C] = [sessionNamed('a'), sessionNamed('b'), sessionNamed('c')]

function written(sessionId: SessionId, position: number): RecordedEvent {
  return { ...turnResumed('because'), sessionId, position, endsWrite: true }
}

export function describeCoordinator(name: string, open: () => Promise<CoordinatorBackend>): void {
  let backend: CoordinatorBackend
  let stop: AbortController

  beforeEach(async () => {
    backend = await open()
    stop = new AbortController()
  })
  afterEach(async () => {
    stop.abort()
    await backend.dispose()
  })

  async function take(from = backend.coordinator): Promise<Ticket> {
    const ticket = await from.take(stop.signal)
    if (ticket === null) throw new Error('nothing was handed out')
    return ticket
  }

  describe(`${name}: ready queue`, () => {
    test('hands out what was woken, in that order, each to one', async () => {
      const { coordinator, elsewhere } = backend
      for (const id of [A, B, C]) coordinator.wake(id)
      const tickets = [await take(), await take(elsewhere), await take()]
      expect(tickets.map((ticket) => ticket.sessionId)).toEqual([A, B, C])
    })

    test('hands it to whoever waits already', async () => {
      const waiting = take(backend.elsewhere)
      backend.coordinator.wake(A)
      expect((await waiting).sessionId).toBe(A)
    })

    test('a session that is woken twice is handed out once', async () => {
      for (const id of [A, A, B, A]) backend.coordinator.wake(id)
      const first = await take()
      const second = await take()
      first.done()
      second.done()
      backend.coordinator.wake(C)
      const third = await take()
      expect([first, second, third].map((ticket) => ticket.sessionId)).toEqual([A, B, C])
    })

    test('a held session is never handed out a second time', async () => {
      const { coordinator, elsewhere } = backend
      coordinator.wake(A)
      await take()
      coordinator.wake(A)
      coordinator.wake(B)
      expect((await take(elsewhere)).sessionId).toBe(B)
    })

    test('a wake while it is held nudges the holder', async () => {
      backend.coordinator.wake(A)
      const ticket = await take()
      const nudged = new Promise<void>((resolve) => {
        ticket.onNudge(resolve)
      })
      backend.elsewhere.wake(A)
      await nudged
    })

    test('a wake before the holder listens nudges it when it does', async () => {
      backend.coordinator.wake(A)
      const ticket = await take()
      backend.coordinator.wake(A)
      await new Promise<void>((resolve) => {
        ticket.onNudge(resolve)
      })
    })

    test('a wake while it was held makes it ready again when it is given back', async () => {
      backend.coordinator.wake(A)
      const ticket = await take()
      const nudged = new Promise<void>((resolve) => {
        ticket.onNudge(resolve)
      })
      backend.coordinator.wake(A)
      await nudged
      ticket.done()
      expect((await take()).sessionId).toBe(A)
    })

    test('given back without a wake it is not ready', async () => {
      backend.coordinator.wake(A)
      const ticket = await take()
      ticket.done()
      backend.coordinator.wake(B)
      expect((await take()).sessionId).toBe(B)
    })

    test('giving back twice does not take it from its next holder', async () => {
      const { coordinator } = backend
      coordinator.wake(A)
      const first = await take()
      first.done()
      coordinator.wake(A)
      await take()
      first.done()
      coordinator.wake(A)
      coordinator.wake(B)
      expect((await take()).sessionId).toBe(B)
    })

    test('an aborted take is answered null and takes nothing away from the others', async () => {
      const leaving = new AbortController()
      const left = backend.coordinator.take(leaving.signal)
      const waiting = take()
      leaving.abort()
      expect(await left).toBeNull()
      backend.coordinator.wake(A)
      expect((await waiting).sessionId).toBe(A)
      expect(await backend.coordinator.take(AbortSignal.abort())).toBeNull()
    })
  })

  describe(`${name}: delayed wakes`, () => {
    test('come at their time, not before', async () => {
      const { coordinator } = backend
      const since = backend.now()
      coordinator.wake(A, 40)
      coordinator.wake(B)
      expect((await take()).sessionId).toBe(B)
      const ticket = take()
      await backend.pass(40)
      expect((await ticket).sessionId).toBe(A)
      expect(backend.now() - since).toBeGreaterThanOrEqual(39)
    })

    test('of two the earlier counts', async () => {
      const { coordinator } = backend
      const since = backend.now()
      for (const delayMs of [60_000, 30, 60_000]) coordinator.wake(A, delayMs)
      const ticket = take()
      await backend.pass(30)
      expect((await ticket).sessionId).toBe(A)
      expect(backend.now() - since).toBeLessThan(30_000)
    })

    test('are overtaken by a wake for now', async () => {
      backend.coordinator.wake(A, 60_000)
      backend.coordinator.wake(A)
      expect((await take()).sessionId).toBe(A)
    })

    test('nudge the holder when it is held at their time', async () => {
      const { coordinator } = backend
      coordinator.wake(A, 30)
      coordinator.wake(A)
      const ticket = await take()
      const nudged = new Promise<void>((resolve) => {
        ticket.onNudge(resolve)
      })
      await backend.pass(30)
      await nudged
      ticket.done()
      expect((await take()).sessionId).toBe(A)
    })
  })

  describe(`${name}: live events`, () => {
    /** Collects what a subscription hears; `until` resolves when it has heard that many. */
    async function listen(sessionId: SessionId, on = backend.coordinator) {
      const heard: (readonly RecordedEvent[])[] = []
      let check = (): void => undefined
      const leave = await on.subscribe(sessionId, (events) => {
        heard.push(events)
        check()
      })
      const until = (count: number) =>
        new Promise<readonly (readonly RecordedEvent[])[]>((resolve) => {
          check = () => {
            if (heard.length >= count) resolve(heard)
          }
          check()
        })
      return { heard, leave, until }
    }

    test('reach every subscriber of the session, whole and in order', async () => {
      const { coordinator, elsewhere } = backend
      const here = await listen(A, coordinator)
      const there = await listen(A, elsewhere)
      const publishes = [[written(A, 1), written(A, 2)], [written(A, 3)]]
      for (const events of publishes) coordinator.publish(A, events)
      expect(await here.until(2)).toEqual(publishes)
      expect(await there.until(2)).toEqual(publishes)
    })

    test('do not reach those of another session, or those who have left', async () => {
      const { coordinator } = backend
      const other = await listen(B)
      const left = await listen(A)
      const stays = await listen(A)
      left.leave()
      left.leave()
      coordinator.publish(A, [written(A, 1)])
      await stays.until(1)
      coordinator.publish(B, [written(B, 1)])
      await other.until(1)
      expect(left.heard).toEqual([])
      expect(other.heard).toEqual([[written(B, 1)]])
    })

    test('one callback subscribed twice is two subscriptions', async () => {
      const heard: number[] = []
      const callback = (events: readonly RecordedEvent[]) => void heard.push(events[0]?.position ?? 0)
      const leave = await backend.coordinator.subscribe(A, callback)
      await backend.coordinator.subscribe(A, callback)
      const marker = await listen(A)
      backend.coordinator.publish(A, [written(A, 1)])
      await marker.until(1)
      leave()
      backend.coordinator.publish(A, [written(A, 2)])
      await marker.until(2)
      expect(heard).toEqual([1, 1, 2])
    })

    test('a subscriber that throws does not disturb the others, or the publisher', async () => {
      await backend.coordinator.subscribe(A, () => {
        throw new Error('not my day')
      })
      const other = await listen(A)
      backend.coordinator.publish(A, [written(A, 1)])
      backend.coordinator.publish(A, [written(A, 2)])
      expect(await other.until(2)).toHaveLength(2)
    })

    test('one may subscribe again after the last has left', async () => {
      const first = await listen(A)
      first.leave()
      const second = await listen(A)
      backend.coordinator.publish(A, [written(A, 1)])
      expect(await second.until(1)).toHaveLength(1)
      expect(first.heard).toEqual([])
    })
  })

  describe(`${name}: announcements`, () => {
    test('reach everyone who listens, until he leaves', async () => {
      const { coordinator, elsewhere } = backend
      const heard: SessionId[] = []
      const leave = coordinator.onAnnounce((id) => heard.push(id))
      const until = (wanted: SessionId) =>
        new Promise<void>((resolve) => {
          const forget = coordinator.onAnnounce((id) => {
            if (id !== wanted) return
            forget()
            resolve()
          })
        })
      coordinator.onAnnounce(() => {
        throw new Error('not my day')
      })
      const first = until(A)
      elsewhere.announce(A)
      await first
      leave()
      const second = until(B)
      elsewhere.announce(B)
      await second
      expect(heard).toEqual([A])
    })
  })

  describe(`${name}: close`, () => {
    test('answers whoever waits with null, and every later take', async () => {
      const waiting = backend.coordinator.take(stop.signal)
      await backend.coordinator.close()
      expect(await waiting).toBeNull()
      backend.coordinator.wake(A)
      expect(await backend.coordinator.take(stop.signal)).toBeNull()
    })

    test('may be repeated, and nothing that comes after it throws', async () => {
      const { coordinator } = backend
      coordinator.wake(A)
      const ticket = await take()
      await coordinator.close()
      await coordinator.close()
      ticket.done()
      coordinator.wake(A, 10)
      coordinator.publish(A, [written(A, 1)])
      coordinator.announce(A)
    })
  })
}
