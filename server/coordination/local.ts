/**
 * The coordinator of a single process: everything in memory, nothing to install. Its holds do not expire by time: the process
 * is the lease, and a new process starts with an empty queue and finds what is due in the database (R5).
 */
import type { Clock } from '../clock.js'
import type { SessionId } from '../ids.js'
import type { RecordedEvent } from '../session/events.js'
import type { Coordinator, Log, ProcessPresence } from '../session/ports.js'
import { createBroadcast, type Broadcast } from './broadcast.js'
import { ReadyQueue } from './ready-queue.js'

export interface LocalCoordinatorOptions {
  readonly clock: Clock
  /** This process, as it is shown to others. */
  readonly self?: ProcessPresence
  /** Hears of callbacks that threw; they are isolated either way. */
  readonly log?: Pick<Log, 'error'>
}

/**
 * Makes a coordinator for one process. Publishing calls the subscribers back before it returns, in the order of publishing.
 * Of two delayed wakes of one session the earlier counts; the later one's due time is in the database, where the sweep finds it.
 */
export function createLocalCoordinator({ clock, self, log }: LocalCoordinatorOptions): Coordinator {
  const onFault = (err: unknown): void => {
    log?.error('a coordination callback threw', { err })
  }
  const queue: ReadyQueue = new ReadyQueue({
    clock,
    onFault,
    onGivenBack: (sessionId, wasWoken) => {
      if (wasWoken) queue.wake(sessionId, 0)
    },
  })
  const channels = new Map<SessionId, Broadcast<readonly RecordedEvent[]>>()
  const announcements = createBroadcast<SessionId>(onFault)
  let closed = false

  function openChannel(sessionId: SessionId): Broadcast<readonly RecordedEvent[]> {
    const found = channels.get(sessionId)
    if (found !== undefined) return found
    const channel = createBroadcast<readonly RecordedEvent[]>(onFault)
    channels.set(sessionId, channel)
    return channel
  }

  return {
    wake(sessionId, delayMs = 0) {
      queue.wake(sessionId, delayMs)
    },
    take: (signal) => queue.take(signal),
    publish(sessionId, events) {
      if (!closed) channels.get(sessionId)?.send(events)
    },
    subscribe(sessionId, callback) {
      const channel = openChannel(sessionId)
      const remove = channel.add(callback)
      return Promise.resolve(() => {
        remove()
        if (channel.size === 0 && channels.get(sessionId) === channel) channels.delete(sessionId)
      })
    },
    announce(sessionId) {
      if (!closed) announcements.send(sessionId)
    },
    onAnnounce: (callback) => announcements.add(callback),
    onGap: () => () => undefined,
    health: () => ({ kind: 'local', fault: null }),
    processes: () => Promise.resolve(closed || self === undefined ? [] : [self]),
    close() {
      closed = true
      queue.close()
      channels.clear()
      return Promise.resolve()
    },
  }
}
