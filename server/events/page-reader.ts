/** Reads one page of a log at a time, beside whatever else its owner waits for. A failed read is tried again after a back-off. */
import type { Clock } from '../clock.js'
import type { SessionId } from '../ids.js'
import type { Log, SessionStore } from '../session/ports.js'
import { backOffMs } from './back-off.js'
import { readWrites, type LogPage } from './read-writes.js'

export interface PageReaderOptions {
  readonly store: Pick<SessionStore, 'readEvents'>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  readonly pageSize: number
}

/** A page, and the newest position that was known to be written when it was asked for: it can't lack what is at or below. */
export interface KnownPage extends LogPage {
  readonly known: number
}

export class PageReader {
  readonly #options: PageReaderOptions
  readonly #sessionId: SessionId
  readonly #onChange: () => void
  #page: KnownPage | null = null
  #isBusy = false
  #isStopped = false
  #failures = 0
  #cancelRetry = (): void => undefined

  /** `onChange` is called when there is a page, or the reader can be asked again. */
  constructor(options: PageReaderOptions, sessionId: SessionId, onChange: () => void) {
    this.#options = options
    this.#sessionId = sessionId
    this.#onChange = onChange
  }

  /** Reads, or waits before it may read again. */
  get isBusy(): boolean {
    return this.#isBusy
  }

  takePage(): KnownPage | null {
    const page = this.#page
    this.#page = null
    return page
  }

  /** Begins to read, once at a time; a second call while it reads does nothing. */
  read(after: number, known: number): void {
    if (this.#isBusy || this.#isStopped) return
    this.#isBusy = true
    void this.#read(after, known)
  }

  stop(): void {
    this.#isStopped = true
    this.#page = null
    this.#cancelRetry()
  }

  async #read(after: number, known: number): Promise<void> {
    const { clock, log, pageSize, store } = this.#options
    const sessionId = this.#sessionId
    try {
      const page = await readWrites(store, { sessionId, after, pageSize })
      this.#failures = 0
      this.#settle({ ...page, known })
    } catch (err) {
      if (this.#isStopped) return
      this.#failures += 1
      log.warn('events of a session could not be read; they are read again', { err, session: sessionId, failures: this.#failures })
      this.#cancelRetry = clock.after(backOffMs(this.#failures), () => {
        this.#settle(null)
      })
    }
  }

  #settle(page: KnownPage | null): void {
    if (this.#isStopped) return
    this.#page = page
    this.#isBusy = false
    this.#onChange()
  }
}
