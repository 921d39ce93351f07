/**
 * What every Coordinator promises, whatever it is built on. A backend's test opens it and calls this.
 * Nothing here waits for a time to pass by itself: what must not happen is shown by what comes instead.
 */
import { describe, expect, test } from 'vitest'
import { sessionNamed } from '../support/log-store.js'
import { BackendUnderTest, type CoordinatorBackend } from './coordinator-backend.js'
import { describeLiveEvents } from './coordinator-live.js'
import { describeReadyQueue } from './coordinator-queue.js'

const A = sessionNamed('a')

export function describeCoordinator(name: string, open: () => Promise<CoordinatorBackend>): void {
  describeReadyQueue(name, open)
  describeLiveEvents(name, open)

  describe(`${name}: close`, () => {
    const backend = new BackendUnderTest(open)
    test('answers whoever waits with null, and every later take', async () => {
      const waiting = backend.current.coordinator.take(backend.signal)
      await backend.current.coordinator.close()
      expect(await waiting).toBeNull()
      backend.current.coordinator.wake(A)
      expect(await backend.current.coordinator.take(backend.signal)).toBeNull()
    })

    test('may be repeated, and nothing that comes after it throws', async () => {
      const { coordinator } = backend.current
      coordinator.wake(A)
      const ticket = await backend.take()
      await coordinator.close()
      await coordinator.close()
      ticket.done()
      coordinator.wake(A, 10)
      coordinator.publish(A, [])
      coordinator.announce(A)
    })
  })
}
