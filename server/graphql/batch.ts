/** Gathers what the resolvers of one request ask for in one turn of the event loop, so that a list costs one statement a relation. */

export interface Batch<Key, Value> {
  load(key: Key): Promise<Value>
}

interface Waiting<Key, Value> {
  readonly key: Key
  resolve(value: Value): void
  reject(reason: unknown): void
}

/** `read` answers with one value for each key, in their order. Nothing is remembered: a later turn reads again. */
export function createBatch<Key, Value>(read: (keys: readonly Key[]) => Promise<readonly Value[]>): Batch<Key, Value> {
  let waiting: Waiting<Key, Value>[] = []

  async function flush(): Promise<void> {
    const batch = waiting
    waiting = []
    try {
      const values = await read(batch.map(({ key }) => key))
      for (const [index, value] of values.entries()) batch[index]?.resolve(value)
    } catch (thrown) {
      for (const one of batch) one.reject(thrown)
    }
  }

  return {
    load: (key) =>
      new Promise((resolve, reject) => {
        waiting.push({ key, resolve, reject })
        if (waiting.length === 1) setImmediate(() => void flush())
      }),
  }
}
