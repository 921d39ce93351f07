/** What the coordinator suite needs of a backend, and the one that the running test has. */
import { afterEach, beforeEach } from 'vitest'
import type { Coordinator, Ticket } from '../../server/session/ports.js'

export interface CoordinatorBackend {
  readonly coordinator: Coordinator
  /** The same from another process; one that serves a single process gives itself. */
  readonly elsewhere: Coordinator
  /** Milliseconds, of the clock that its delays are measured with. */
  now(): number
  /** Lets time pass; with a real clock there is nothing to do. */
  pass(ms: number): Promise<void>
  dispose(): Promise<void>
}

/** The backend of the test that runs: opened for it, disposed of after it. */
export class BackendUnderTest {
  #backend: CoordinatorBackend | null = null
  #stop = new AbortController()

  constructor(open: () => Promise<CoordinatorBackend>) {
    beforeEach(async () => {
      this.#stop = new AbortController()
      this.#backend = await open()
    })
    afterEach(async () => {
      this.#stop.abort()
      await this.current.dispose()
    })
  }

  get current(): CoordinatorBackend {
    if (this.#backend === null) throw new Error('there is a backend only while a test runs')
    return this.#backend
  }

  /** Aborts when the test ends. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** The next session that is handed out. */
  async take(from = this.current.coordinator): Promise<Ticket> {
    const ticket = await from.take(this.signal)
    if (ticket === null) throw new Error('nothing was handed out')
    return ticket
  }
}
