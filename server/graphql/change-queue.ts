/** Sessions that have changed, each handed out at least once after its last change and at most once an interval. */
import type { Clock } from '../clock.js'

export interface ChangeQueue<Id> {
  mark(id: Id): void
  /** Waits for at least one that is due; at most `limit`. Empty when the signal aborts. */
  take(limit: number, signal: AbortSignal): Promise<readonly Id[]>
}

export function createChangeQueue<Id>(clock: Clock, intervalMs: number): ChangeQueue<Id> {
  const dueAt = new Map<Id, number>()
  const takenAt = new Map<Id, number>()
  let onMark: () => void = () => undefined

  function takeDue(limit: number): Id[] {
    const now = clock.monotonic()
    for (const [id, at] of takenAt) if (at + intervalMs <= now) takenAt.delete(id)
    const due: Id[] = []
    for (const [id, at] of dueAt) {
      if (due.length === limit) break
      if (at <= now) due.push(id)
    }
    for (const id of due) {
      dueAt.delete(id)
      takenAt.set(id, now)
    }
    return due
  }

  /** Until the next one is due, another is marked, or the signal aborts. */
  function waitForMore(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const nextAt = Math.min(...dueAt.values())
      const cancel = Number.isFinite(nextAt) ? clock.after(nextAt - clock.monotonic(), wake) : () => undefined
      signal.addEventListener('abort', wake)
      onMark = wake
      function wake(): void {
        cancel()
        signal.removeEventListener('abort', wake)
        onMark = () => undefined
        resolve()
      }
    })
  }

  return {
    mark(id) {
      if (dueAt.has(id)) return
      const last = takenAt.get(id)
      dueAt.set(id, last === undefined ? clock.monotonic() : last + intervalMs)
      onMark()
    },
    async take(limit, signal) {
      while (!signal.aborted) {
        const due = takeDue(limit)
        if (due.length > 0) return due
        await waitForMore(signal)
      }
      return []
    },
  }
}
