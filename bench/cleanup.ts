/** What was opened is closed, the last first, whatever happens. */

/** To be told right after something was opened. */
export type Cleanup = (close: () => unknown) => void

/** Throws the signal's reason as soon as it aborts: what the work waits for may never come. */
export async function withCleanup<Value>(signal: AbortSignal, work: (cleanup: Cleanup) => Promise<Value>): Promise<Value> {
  signal.throwIfAborted()
  const closers: (() => unknown)[] = []
  let stop = (): void => undefined
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = () => reject(toError(signal.reason))
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work((close) => closers.push(close)), stopped])
  } finally {
    signal.removeEventListener('abort', stop)
    for (const close of closers.reverse()) await close()
  }
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason))
}
