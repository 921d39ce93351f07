/** What every coordinator promises of live events and announcements. */
import { describe, expect, test } from 'vitest'
import type { SessionId } from '../../server/ids.js'
import type { RecordedEvent } from '../../server/session/events.js'
import type { Coordinator } from '../../server/session/ports.js'
import { sessionNamed } from '../support/log-store.js'
import { turnResumed } from '../support/sample-events.js'
import { BackendUnderTest, type CoordinatorBackend } from './coordinator-backend.js'

const [A, B] = [sessionNamed('a'), sessionNamed('b')]

function written(sessionId: SessionId, position: number): RecordedEvent {
  return { ...turnResumed('because'), sessionId, position, endsWrite: true }
}

/** Collects what a subscription hears; `until` resolves when it has heard that many. */
async function listen(on: Coordinator, sessionId: SessionId) {
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

export function describeLiveEvents(name: string, open: () => Promise<CoordinatorBackend>): void {
  describe(`${name}: live events`, () => {
    const backend = new BackendUnderTest(open)
    test('reach every subscriber of the session, whole and in order', async () => {
      const { coordinator, elsewhere } = backend.current
      const here = await listen(coordinator, A)
      const there = await listen(elsewhere, A)
      const publishes = [[written(A, 1), written(A, 2)], [written(A, 3)]]
      for (const events of publishes) coordinator.publish(A, events)
      expect(await here.until(2)).toEqual(publishes)
      expect(await there.until(2)).toEqual(publishes)
    })

    test('do not reach those of another session, or those who have left', async () => {
      const { coordinator } = backend.current
      const other = await listen(backend.current.coordinator, B)
      const left = await listen(backend.current.coordinator, A)
      const stays = await listen(backend.current.coordinator, A)
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
      const leave = await backend.current.coordinator.subscribe(A, callback)
      await backend.current.coordinator.subscribe(A, callback)
      const marker = await listen(backend.current.coordinator, A)
      backend.current.coordinator.publish(A, [written(A, 1)])
      await marker.until(1)
      leave()
      backend.current.coordinator.publish(A, [written(A, 2)])
      await marker.until(2)
      expect(heard).toEqual([1, 1, 2])
    })

    test('a subscriber that throws does not disturb the others, or the publisher', async () => {
      await backend.current.coordinator.subscribe(A, () => {
        throw new Error('not my day')
      })
      const other = await listen(backend.current.coordinator, A)
      backend.current.coordinator.publish(A, [written(A, 1)])
      backend.current.coordinator.publish(A, [written(A, 2)])
      expect(await other.until(2)).toHaveLength(2)
    })

    test('one may subscribe again after the last has left', async () => {
      const first = await listen(backend.current.coordinator, A)
      first.leave()
      const second = await listen(backend.current.coordinator, A)
      backend.current.coordinator.publish(A, [written(A, 1)])
      expect(await second.until(1)).toHaveLength(1)
      expect(first.heard).toEqual([])
    })
  })

  describe(`${name}: announcements`, () => {
    const backend = new BackendUnderTest(open)
    test('reach everyone who listens, until he leaves', async () => {
      const { coordinator, elsewhere } = backend.current
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
}
