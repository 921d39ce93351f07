/** What the SDK takes from its surroundings: the network, randomness and time. A test brings its own. */
export interface Runtime {
  readonly fetch: typeof fetch
  /** At least 0, less than 1. */
  random(): number
  /** A new idempotency key. */
  newKey(): string
  /** Resolves after `ms`; rejects with the signal's reason when it is aborted. */
  wait(ms: number, signal: AbortSignal | undefined): Promise<void>
}

export function createRuntime(ownFetch: typeof fetch | undefined): Runtime {
  return {
    // Called through an arrow, since browsers refuse a `fetch` that is called as a method of something else.
    fetch: ownFetch ?? ((...call) => fetch(...call)),
    random: Math.random,
    newKey,
    wait,
  }
}

/** 128 random bits. `crypto.randomUUID` is missing on pages that are not served over TLS. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(toError(signal.reason))
      return
    }
    const stop = (): void => {
      clearTimeout(timer)
      reject(toError(signal?.reason))
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}

/** Exponential with full jitter, between a quarter and the whole of the step. `failures` counts from 1. */
export function toBackoffMs(failures: number, limits: { readonly firstMs: number; readonly maxMs: number }, random: () => number): number {
  const step = Math.min(limits.maxMs, limits.firstMs * 2 ** Math.min(failures - 1, 30))
  return Math.round(step * (0.25 + 0.75 * random()))
}

/** The reason of an abort as it was given; one that is not an error is wrapped. */
export function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(`aborted: ${String(reason)}`)
}

/**
 * A signal of our own that follows `parent`. `release` ends the tie, so that a long-lived parent does not collect listeners;
 * whoever made it calls it.
 */
export interface LinkedAbort {
  readonly signal: AbortSignal
  abort(reason: Error): void
  release(): void
}

export function linkAbort(parent: AbortSignal | undefined): LinkedAbort {
  const controller = new AbortController()
  const follow = (): void => controller.abort(parent?.reason)
  if (parent?.aborted === true) follow()
  else parent?.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release: () => parent?.removeEventListener('abort', follow),
  }
}

/** The result of `work`; throws the signal's reason as soon as it is aborted, whatever `work` does then. */
export function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(toError(signal.reason))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}
