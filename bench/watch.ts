/** Times one turn after the other by the events of its session. */
import { systemClock } from '../server/clock.js'
import type { EventType, RecordedEvent } from '../server/session/events.js'

/** Milliseconds since it was said: until it was accepted, until the first event of the turn came (or the one that is watched for), until it rested. */
export interface Spoken {
  readonly acceptedMs: number
  readonly firstEventMs: number
  readonly turnMs: number
}

export interface Watch {
  hear(events: readonly Pick<RecordedEvent, 'type'>[]): void
  /** From the call of `send`, which resolves when the message is accepted, until the session rests again. Throws when the turn fails. */
  during(send: () => Promise<void>): Promise<Spoken>
}

interface Turn {
  firstAt: number | null
  resolve(restedAt: number): void
  reject(reason: Error): void
}

export interface Watched {
  /** Null: whichever event is the first. */
  readonly first?: EventType | null
  /** Default: the turn is over. */
  readonly rest?: EventType
}

export function createWatch({ first = null, rest = 'SESSION_WAITING' }: Watched = {}): Watch {
  let turn: Turn | null = null
  return {
    hear(events) {
      if (events.length === 0 || turn === null) return
      if (first === null || events.some(({ type }) => type === first)) turn.firstAt ??= systemClock.monotonic()
      if (events.some(({ type }) => type === 'TURN_FAILED')) turn.reject(new Error('a turn of the bench failed'))
      if (events.some(({ type }) => type === rest)) turn.resolve(systemClock.monotonic())
    },
    async during(send) {
      const current: Turn = { firstAt: null, resolve: () => undefined, reject: () => undefined }
      const rested = new Promise<number>((resolve, reject) => Object.assign(current, { resolve, reject }))
      turn = current
      const sentAt = systemClock.monotonic()
      const [acceptedAt, restedAt] = await Promise.all([send().then(() => systemClock.monotonic()), rested])
      turn = null
      if (current.firstAt === null) throw new Error(`a turn of the bench came to rest without ${first ?? 'an event'}`)
      return { acceptedMs: acceptedAt - sentAt, firstEventMs: current.firstAt - sentAt, turnMs: restedAt - sentAt }
    },
  }
}
