/** What every ready queue promises: who is handed out, when, and to whom. */
import { describe, expect, test } from 'vitest'
import type { Ticket } from '../../server/session/ports.js'
import { sessionNamed } from '../support/log-store.js'
import { BackendUnderTest, type CoordinatorBackend } from './coordinator-backend.js'

const [A, B, C] = [sessionNamed('a'), sessionNamed('b'), sessionNamed('c')]

/** Resolves at the next nudge. */
function nudged(ticket: Ticket): Promise<void> {
  return new Promise((resolve) => {
    ticket.onNudge(resolve)
  })
}

export function describeReadyQueue(name: string, open: () => Promise<CoordinatorBackend>): void {
  describe(`${name}: ready queue`, () => {
    const backend = new BackendUnderTest(open)
    test('hands out what was woken, in that order, each to one', async () => {
      const { coordinator, elsewhere } = backend.current
      for (const id of [A, B, C]) coordinator.wake(id)
      const tickets = [await backend.take(), await backend.take(elsewhere), await backend.take()]
      expect(tickets.map((ticket) => ticket.sessionId)).toEqual([A, B, C])
    })

    test('hands it to whoever waits already', async () => {
      const waiting = backend.take(backend.current.elsewhere)
      backend.current.coordinator.wake(A)
      expect((await waiting).sessionId).toBe(A)
    })

    test('a session that is woken twice is handed out once', async () => {
      for (const id of [A, A, B, A]) backend.current.coordinator.wake(id)
      const first = await backend.take()
      const second = await backend.take()
      first.done()
      second.done()
      backend.current.coordinator.wake(C)
      const third = await backend.take()
      expect([first, second, third].map((ticket) => ticket.sessionId)).toEqual([A, B, C])
    })

    test('a held session is never handed out a second time', async () => {
      const { coordinator, elsewhere } = backend.current
      coordinator.wake(A)
      await backend.take()
      coordinator.wake(A)
      coordinator.wake(B)
      expect((await backend.take(elsewhere)).sessionId).toBe(B)
    })

    test('a wake while it is held nudges the holder', async () => {
      backend.current.coordinator.wake(A)
      const ticket = await backend.take()
      const nudge = nudged(ticket)
      backend.current.elsewhere.wake(A)
      await nudge
    })

    test('a wake before the holder listens nudges it when it does', async () => {
      backend.current.coordinator.wake(A)
      const ticket = await backend.take()
      backend.current.coordinator.wake(A)
      await nudged(ticket)
    })

    test('a wake while it was held makes it ready again when it is given back', async () => {
      backend.current.coordinator.wake(A)
      const ticket = await backend.take()
      const nudge = nudged(ticket)
      backend.current.coordinator.wake(A)
      await nudge
      ticket.done()
      expect((await backend.take()).sessionId).toBe(A)
    })

    test('given back without a wake it is not ready', async () => {
      backend.current.coordinator.wake(A)
      const ticket = await backend.take()
      ticket.done()
      backend.current.coordinator.wake(B)
      expect((await backend.take()).sessionId).toBe(B)
    })

    test('giving back twice does not take it from its next holder', async () => {
      const { coordinator } = backend.current
      coordinator.wake(A)
      const first = await backend.take()
      first.done()
      coordinator.wake(A)
      await backend.take()
      first.done()
      coordinator.wake(A)
      coordinator.wake(B)
      expect((await backend.take()).sessionId).toBe(B)
    })

    test('an aborted take is answered null and takes nothing away from the others', async () => {
      const leaving = new AbortController()
      const left = backend.current.coordinator.take(leaving.signal)
      const waiting = backend.take()
      leaving.abort()
      expect(await left).toBeNull()
      backend.current.coordinator.wake(A)
      expect((await waiting).sessionId).toBe(A)
      expect(await backend.current.coordinator.take(AbortSignal.abort())).toBeNull()
    })
  })

  describe(`${name}: delayed wakes`, () => {
    const backend = new BackendUnderTest(open)
    test('come at their time, not before', async () => {
      const { coordinator } = backend.current
      const since = backend.current.now()
      coordinator.wake(A, 40)
      coordinator.wake(B)
      expect((await backend.take()).sessionId).toBe(B)
      const ticket = backend.take()
      await backend.current.pass(40)
      expect((await ticket).sessionId).toBe(A)
      expect(backend.current.now() - since).toBeGreaterThanOrEqual(39)
    })

    test('of two the earlier counts', async () => {
      const { coordinator } = backend.current
      const since = backend.current.now()
      for (const delayMs of [60_000, 30, 60_000]) coordinator.wake(A, delayMs)
      const ticket = backend.take()
      await backend.current.pass(30)
      expect((await ticket).sessionId).toBe(A)
      expect(backend.current.now() - since).toBeLessThan(30_000)
    })

    test('are overtaken by a wake for now', async () => {
      backend.current.coordinator.wake(A, 60_000)
      backend.current.coordinator.wake(A)
      expect((await backend.take()).sessionId).toBe(A)
    })

    test('nudge the holder when it is held at their time, as long as a slot waits anywhere', async () => {
      const { coordinator, elsewhere } = backend.current
      coordinator.wake(A)
      const ticket = await backend.take()
      const waiting = backend.take(elsewhere)
      const nudge = nudged(ticket)
      coordinator.wake(A, 30)
      await backend.current.pass(30)
      await nudge
      ticket.done()
      expect((await waiting).sessionId).toBe(A)
    })
  })
}
