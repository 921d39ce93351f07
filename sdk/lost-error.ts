import { NetworkError } from './errors.js'

/** A connection or a reply that was lost, or a server that asks to come back later: worth another try. Never leaves the SDK. */
export class LostError extends Error {
  readonly status: number | undefined
  /** How long the server asks to wait; 0 when it does not say. */
  readonly retryAfterMs: number

  constructor(message: string, details: { readonly status?: number; readonly retryAfterMs?: number; readonly cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.status = details.status
    this.retryAfterMs = details.retryAfterMs ?? 0
  }

  /** What the caller gets when the tries are used up. */
  toNetworkError(url: string, attempts: number): NetworkError {
    const status = this.status === undefined ? {} : { status: this.status }
    return new NetworkError(this.message, { url, attempts, cause: this.cause, ...status })
  }
}
