/** A set of callbacks that each hear every value that is sent after they were added. One that throws does not silence the others. */
export interface Broadcast<Value> {
  readonly size: number
  send(value: Value): void
  /** Every call is a subscription of its own; the answer ends it, also in the middle of a send. */
  add(callback: (value: Value) => void): () => void
}

export function createBroadcast<Value>(onFault: (thrown: unknown) => void): Broadcast<Value> {
  const listeners = new Set<{ readonly callback: (value: Value) => void }>()
  return {
    get size() {
      return listeners.size
    },
    send(value) {
      // A copy, so that whoever is added by a callback hears later values only.
      for (const listener of [...listeners]) {
        if (!listeners.has(listener)) continue
        try {
          listener.callback(value)
        } catch (thrown) {
          onFault(thrown)
        }
      }
    },
    add(callback) {
      const listener = { callback }
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
  }
}
