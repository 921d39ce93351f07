/** A store that fails on purpose: at the k-th write of a kind, in one of the ways a database can fail. */
import { OutcomeUnknown } from '../../server/errors.js'
import type { SessionStore } from '../../server/session/ports.js'

export const FAULTS = ['not-applied', 'reply-lost', 'crash-before', 'crash-after'] as const
export type Fault = (typeof FAULTS)[number]
export type FaultyWrite = 'commit' | 'appendEvents' | 'claim'

export interface FaultyStore {
  readonly store: SessionStore
  /** Resolves when a crash was simulated: from then on this view of the store never answers again. */
  readonly crashed: Promise<void>
  /** Writes of the kind so far. */
  count(): number
}

/** `at` counts from 1; 0: never fails, only counts. */
export function makeFaulty(store: SessionStore, write: FaultyWrite, at: number, fault: Fault): FaultyStore {
  let seen = 0
  let isDead = false
  let die = (): void => undefined
  const crashed = new Promise<void>((resolve) => (die = resolve))
  const never = (): Promise<never> => {
    isDead = true
    die()
    return new Promise(() => undefined)
  }

  async function failing<T>(run: () => Promise<T>): Promise<T> {
    seen += 1
    if (seen !== at) return run()
    switch (fault) {
      case 'not-applied':
        throw new OutcomeUnknown('the connection broke before the write')
      case 'reply-lost':
        await run()
        throw new OutcomeUnknown('the connection broke after the write')
      case 'crash-before':
        return never()
      case 'crash-after':
        await run()
        return never()
    }
  }

  const guarded = new Proxy(store, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        if (isDead) return new Promise(() => undefined)
        const run = (): Promise<unknown> => Promise.resolve(Reflect.apply(member, target, args))
        return name === write ? failing(run) : run()
      }
    },
  })
  return { store: guarded, crashed, count: () => seen }
}
